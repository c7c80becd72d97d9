//! [`ErrorResponse`]: an error response of Bedrock.

use crate::model::Failure;

/// An error response of Bedrock.
pub(crate) struct ErrorResponse<'a> {
    pub(crate) code: Option<&'a str>,
    pub(crate) status: Option<u16>,
    pub(crate) message: Option<&'a str>,
    pub(crate) request_id: Option<&'a str>,
}

/// A failure from its description.
type MakeFailure = fn(String) -> Failure;

/// Error codes whose messages cannot quote the request, because Bedrock writes them before it reads the request.
const BEFORE_READING: [&str; 5] = [
    "AccessDeniedException",
    "ResourceNotFoundException",
    "ServiceQuotaExceededException",
    "UnrecognizedClientException",
    "ExpiredTokenException",
];

/// Known parts of the messages of `ValidationException`, with their meaning and what to do. Other parts may quote the
/// request.
const KNOWN: [(&str, MakeFailure, &str); 17] = [
    ("model identifier is invalid", Failure::Denied, "check the model id and the region"),
    ("on-demand throughput", Failure::Denied, "use an inference profile of the model"),
    ("Operation not allowed", Failure::Denied, "request access to the model for the account"),
    ("end of its life", Failure::Denied, "the model is retired; use a newer one"),
    ("tool use in streaming mode", Failure::Refused, "set `streams_with_tools` of the profile to false"),
    ("support tool use", Failure::Refused, "the model does not support tools; send none"),
    ("support system messages", Failure::Refused, "the model does not support a system prompt; send none"),
    ("support the cachePoint", Failure::Refused, "turn cache points off"),
    ("did not allow prompt caching", Failure::Refused, "turn cache points off"),
    ("extraneous key [cachePoint]", Failure::Refused, "turn cache points off"),
    ("cannot both be specified", Failure::Refused, "set the temperature or top_p, not both"),
    ("is deprecated for this model", Failure::Refused, "the model does not support temperature or top_p; set neither"),
    ("does not support assistant message prefill", Failure::Refused, "set `must_end_with_user` of the profile to true"),
    ("cannot be provided in the same turn", Failure::Refused, "set `text_beside_tools` of the profile to false"),
    ("Input is too long", Failure::Refused, "the prompt is too long for the model; summarise earlier"),
    ("prompt is too long", Failure::Refused, "the prompt is too long for the model; summarise earlier"),
    ("maximum context length", Failure::Refused, "the prompt is too long for the model; summarise earlier"),
];

impl ErrorResponse<'_> {
    pub(crate) fn failure(&self) -> Failure {
        let known = self.message.and_then(|message| KNOWN.iter().find(|(part, ..)| message.contains(part)));
        let failure = known.map_or_else(|| self.failure_by_code(), |(_, failure, _)| *failure);
        failure(self.describe(known.map(|(part, _, advice)| (*part, *advice))))
    }

    fn failure_by_code(&self) -> MakeFailure {
        match (self.code.unwrap_or_default(), self.status) {
            ("ThrottlingException" | "ServiceQuotaExceededException" | "TooManyRequestsException", _) => {
                |_| Failure::Throttled
            }
            ("ModelNotReadyException" | "ModelTimeoutException" | "ModelErrorException", _)
            | ("ModelStreamErrorException" | "InternalServerException" | "ServiceUnavailableException", _) => {
                Failure::Unavailable
            }
            ("ValidationException", _) => Failure::Refused,
            ("AccessDeniedException" | "ResourceNotFoundException", _) | (_, Some(401 | 403 | 404)) => Failure::Denied,
            (_, Some(429)) => |_| Failure::Throttled,
            (_, Some(400..=499)) => Failure::Refused,
            _ => Failure::Unavailable,
        }
    }

    /// Formats the code, the status, the request id, and the parts of the message that cannot quote the request.
    fn describe(&self, known: Option<(&str, &str)>) -> String {
        let mut text = self.code.unwrap_or("an error without a code").escape_debug().to_string();
        if let Some(status) = self.status {
            text.push_str(&format!(", status {status}"));
        }
        if let Some(id) = self.request_id {
            text.push_str(&format!(", request {}", id.escape_debug()));
        }
        match (known, self.message) {
            (Some((part, advice)), _) => text.push_str(&format!(": \"… {part} …\": {advice}")),
            (None, Some(message)) if self.code.is_some_and(|code| BEFORE_READING.contains(&code)) => {
                text.push_str(": ");
                text.extend(message.chars().filter(|c| !c.is_control()));
            }
            (None, Some(message)) => {
                text.push_str(&format!(
                    "; its message of {} bytes is left out, because it may quote the request",
                    message.len()
                ));
            }
            (None, None) => {}
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: &str, status: u16, message: &str) -> Failure {
        ErrorResponse { code: Some(code), status: Some(status), message: Some(message), request_id: Some("r-1") }
            .failure()
    }

    #[test]
    fn error_response_maps_to_failure_with_advice() {
        let too_long = "ValidationException, status 400, request r-1: \"… Input is too long …\": the prompt is too long \
                        for the model; summarise earlier";
        let wrong_id = "ValidationException, status 400, request r-1: \"… model identifier is invalid …\": check the \
                        model id and the region";
        let denied = "AccessDeniedException, status 403, request r-1: You don't have access to the model.";
        let unknown = "ValidationException, status 400, request r-1; its message of 11 bytes is left out, because it may quote \
                       the request";
        let hidden = |code: &str, status: u16| {
            format!(
                "{code}, status {status}, request r-1; its message of 1 bytes is left out, because it may quote the request"
            )
        };
        for (code, status, message, expected) in [
            ("ValidationException", 400, "Input is too long for requested model.", Failure::Refused(too_long.into())),
            ("ValidationException", 400, "The provided model identifier is invalid.", Failure::Denied(wrong_id.into())),
            ("ValidationException", 400, "my pin 4711", Failure::Refused(unknown.into())),
            ("AccessDeniedException", 403, "You don't have access to the model.", Failure::Denied(denied.into())),
            ("ThrottlingException", 429, "Too many requests", Failure::Throttled),
            ("ServiceQuotaExceededException", 400, "x", Failure::Throttled),
            ("ModelNotReadyException", 429, "x", Failure::Unavailable(hidden("ModelNotReadyException", 429))),
            ("ModelErrorException", 424, "x", Failure::Unavailable(hidden("ModelErrorException", 424))),
            ("InternalServerException", 500, "x", Failure::Unavailable(hidden("InternalServerException", 500))),
            ("InvalidSignatureException", 403, "x", Failure::Denied(hidden("InvalidSignatureException", 403))),
            ("NewException", 418, "x", Failure::Refused(hidden("NewException", 418))),
            ("NewException", 503, "x", Failure::Unavailable(hidden("NewException", 503))),
        ] {
            assert_eq!(failure(code, status, message), expected, "{code} {status}");
        }
    }
}
