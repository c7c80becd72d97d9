//! [`Refusal`]: an error that Bedrock answers with.

use crate::model::Failure;

/// What Bedrock says when it does not answer.
pub(super) struct Refusal<'a> {
    pub(super) code: Option<&'a str>,
    pub(super) status: Option<u16>,
    pub(super) message: Option<&'a str>,
    pub(super) request_id: Option<&'a str>,
}

enum Kind {
    Denied,
    Throttled,
    Refused,
    Unavailable,
}

/// Codes whose messages are written before the request is read: they name users, models and quotas, and can quote
/// nothing that was said.
const BEFORE_READING: [&str; 5] = [
    "AccessDeniedException",
    "ResourceNotFoundException",
    "ServiceQuotaExceededException",
    "UnrecognizedClientException",
    "ExpiredTokenException",
];

/// Parts of the messages of `ValidationException`, for any other part of which may quote the request; what they mean, and
/// what to do.
const KNOWN: [(&str, Kind, &str); 17] = [
    ("model identifier is invalid", Kind::Denied, "check the model id and the region"),
    ("on-demand throughput", Kind::Denied, "ask an inference profile of the model instead"),
    ("Operation not allowed", Kind::Denied, "the account may not use the model"),
    ("end of its life", Kind::Denied, "the model is retired; ask a newer one"),
    ("tool use in streaming mode", Kind::Refused, "set `tools_while_streaming` of the profile to false"),
    ("support tool use", Kind::Refused, "the model knows no tools; ask it without"),
    ("support system messages", Kind::Refused, "the model takes no system prompt"),
    ("support the cachePoint", Kind::Refused, "ask without cache points"),
    ("did not allow prompt caching", Kind::Refused, "ask without cache points"),
    ("extraneous key [cachePoint]", Kind::Refused, "ask without cache points"),
    ("cannot both be specified", Kind::Refused, "set the temperature or top_p, not both"),
    ("is deprecated for this model", Kind::Refused, "the model takes no temperature or top_p; set none"),
    ("does not support assistant message prefill", Kind::Refused, "set `must_end_with_user` of the profile"),
    ("cannot be provided in the same turn", Kind::Refused, "set `text_beside_tools` of the profile to false"),
    ("Input is too long", Kind::Refused, "the window is too long for the model; summarise earlier"),
    ("prompt is too long", Kind::Refused, "the window is too long for the model; summarise earlier"),
    ("maximum context length", Kind::Refused, "the window is too long for the model; summarise earlier"),
];

impl Refusal<'_> {
    pub(super) fn failure(&self) -> Failure {
        let known = self.message.and_then(|message| KNOWN.iter().find(|(part, ..)| message.contains(part)));
        let kind = known.map_or_else(|| self.kind(), |(_, kind, _)| kind);
        let told = || self.told(known.map(|(part, _, advice)| (*part, *advice)));
        match kind {
            Kind::Denied => Failure::Denied(told()),
            Kind::Throttled => Failure::Throttled,
            Kind::Refused => Failure::Refused(told()),
            Kind::Unavailable => Failure::Unavailable(told()),
        }
    }

    fn kind(&self) -> &'static Kind {
        match (self.code.unwrap_or_default(), self.status) {
            ("ThrottlingException" | "ServiceQuotaExceededException" | "TooManyRequestsException", _) => {
                &Kind::Throttled
            }
            ("ModelNotReadyException" | "ModelTimeoutException" | "ModelErrorException", _)
            | ("ModelStreamErrorException" | "InternalServerException" | "ServiceUnavailableException", _) => {
                &Kind::Unavailable
            }
            ("ValidationException", _) => &Kind::Refused,
            ("AccessDeniedException" | "ResourceNotFoundException", _) | (_, Some(401 | 403 | 404)) => &Kind::Denied,
            (_, Some(429)) => &Kind::Throttled,
            (_, Some(400..=499)) => &Kind::Refused,
            _ => &Kind::Unavailable,
        }
    }

    /// The code, the status and the id of the request; of the message only what can quote nothing.
    fn told(&self, known: Option<(&str, &str)>) -> String {
        let mut told = self.code.unwrap_or("an error without a code").escape_debug().to_string();
        if let Some(status) = self.status {
            told.push_str(&format!(", status {status}"));
        }
        if let Some(id) = self.request_id {
            told.push_str(&format!(", request {}", id.escape_debug()));
        }
        match (known, self.message) {
            (Some((part, advice)), _) => told.push_str(&format!(": \"… {part} …\": {advice}")),
            (None, Some(message)) if self.code.is_some_and(|code| BEFORE_READING.contains(&code)) => {
                told.push_str(": ");
                told.extend(message.chars().filter(|c| !c.is_control()));
            }
            (None, Some(message)) => {
                told.push_str(&format!(
                    "; its message of {} bytes may quote the request, and is left out",
                    message.len()
                ));
            }
            (None, None) => {}
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: &str, status: u16, message: &str) -> Failure {
        Refusal { code: Some(code), status: Some(status), message: Some(message), request_id: Some("r-1") }.failure()
    }

    #[test]
    fn a_refusal_says_who_has_to_act() {
        let too_long = "ValidationException, status 400, request r-1: \"… Input is too long …\": the window is too long \
                        for the model; summarise earlier";
        let wrong_id = "ValidationException, status 400, request r-1: \"… model identifier is invalid …\": check the \
                        model id and the region";
        let denied = "AccessDeniedException, status 403, request r-1: You don't have access to the model.";
        let unknown = "ValidationException, status 400, request r-1; its message of 11 bytes may quote the request, and is \
                       left out";
        let odd = |what: &str, status: u16| {
            format!(
                "{what}, status {status}, request r-1; its message of 1 bytes may quote the request, and is left out"
            )
        };
        for (code, status, message, expected) in [
            ("ValidationException", 400, "Input is too long for requested model.", Failure::Refused(too_long.into())),
            ("ValidationException", 400, "The provided model identifier is invalid.", Failure::Denied(wrong_id.into())),
            ("ValidationException", 400, "my pin 4711", Failure::Refused(unknown.into())),
            ("AccessDeniedException", 403, "You don't have access to the model.", Failure::Denied(denied.into())),
            ("ThrottlingException", 429, "Too many requests", Failure::Throttled),
            ("ServiceQuotaExceededException", 400, "x", Failure::Throttled),
            ("ModelNotReadyException", 429, "x", Failure::Unavailable(odd("ModelNotReadyException", 429))),
            ("ModelErrorException", 424, "x", Failure::Unavailable(odd("ModelErrorException", 424))),
            ("InternalServerException", 500, "x", Failure::Unavailable(odd("InternalServerException", 500))),
            ("InvalidSignatureException", 403, "x", Failure::Denied(odd("InvalidSignatureException", 403))),
            ("NewException", 418, "x", Failure::Refused(odd("NewException", 418))),
            ("NewException", 503, "x", Failure::Unavailable(odd("NewException", 503))),
        ] {
            assert_eq!(failure(code, status, message), expected, "{code} {status}");
        }
    }
}
