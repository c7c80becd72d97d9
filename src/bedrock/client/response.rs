//! [`ErrorResponse`]: an error response of Bedrock.

use crate::bedrock::profile::{Refusal, Remedy, refusals};
use crate::model::Failure;

/// An error response of Bedrock.
pub(crate) struct ErrorResponse<'a> {
    pub(crate) code: Option<&'a str>,
    pub(crate) status: Option<u16>,
    pub(crate) message: Option<&'a str>,
    pub(crate) request_id: Option<&'a str>,
}

/// Makes a failure from its description.
type MakeFailure = fn(String) -> Failure;

/// Error codes whose messages cannot quote the request, because Bedrock writes them before it reads the request.
const BEFORE_READING: [&str; 5] = [
    "AccessDeniedException",
    "ResourceNotFoundException",
    "ServiceQuotaExceededException",
    "UnrecognizedClientException",
    "ExpiredTokenException",
];

/// Returns the known refusal with this message. Only its known part of the message is certain not to quote the request.
pub(super) fn known(message: &str) -> Option<&'static Refusal> {
    refusals().find(|refusal| message.contains(refusal.part))
}

impl ErrorResponse<'_> {
    pub(crate) fn failure(&self) -> Failure {
        let known = self.message.and_then(known);
        let failure: MakeFailure = match known {
            None => self.failure_by_code(),
            Some(refusal) if refusal.remedy == Remedy::Operator => Failure::Denied,
            Some(refusal) if refusal.remedy == Remedy::AskAgain => Failure::Unavailable,
            Some(_) => Failure::Refused,
        };
        failure(self.describe(known))
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
    fn describe(&self, known: Option<&Refusal>) -> String {
        let mut text = self.code.unwrap_or("an error without a code").escape_debug().to_string();
        if let Some(status) = self.status {
            text.push_str(&format!(", status {status}"));
        }
        if let Some(id) = self.request_id {
            text.push_str(&format!(", request {}", id.escape_debug()));
        }
        match (known, self.message) {
            (Some(Refusal { rule, part, seen, source, advice, .. }), _) => {
                let seen = if seen.is_empty() { String::new() } else { format!(", seen {seen}") };
                text.push_str(&format!(": \"… {part} …\" (rule {rule}{seen}, https://{source}): {advice}"));
            }
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
        let too_long = "ValidationException, status 400, request r-1: \"… Input is too long …\" (rule too-long, seen \
                        2026-09-18, https://github.com/aws-solutions-library-samples/\
                        accelerated-intelligent-document-processing-on-aws/pull/998): the prompt is too long for the model; \
                        summarize earlier";
        let wrong_id = "ValidationException, status 400, request r-1: \"… model identifier is invalid …\" (rule model-id, \
                        https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html): check \
                        the model id and the region";
        const NOVA: &str = "Model produced invalid sequence as part of ToolUse. Please refer to the guide.";
        let sequence = "ModelErrorException, status 424, request r-1: \"… invalid sequence as part of ToolUse …\" (rule \
                        tool-sequence, seen 2026-08-13, https://github.com/SEMOSS/Semoss/pull/2892): ask again; Nova \
                        fails on tools whose names have a hyphen, so rename them";
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
            ("ModelErrorException", 424, NOVA, Failure::Unavailable(sequence.into())),
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
