//! [`Exception`]: the errors of Converse, with Bedrock's status, name and message.

const FAILED: &str = "The system encountered an unexpected error during processing. Try your request again.";

/// Name, status and message of the exceptions in AWS's machine-readable model of the service.
const EXCEPTIONS: [(&str, u16, &str); 10] = [
    ("AccessDeniedException", 403, "You don't have access to the model with the specified model ID."),
    ("InternalServerException", 500, FAILED),
    ("ModelErrorException", 424, FAILED),
    ("ModelNotReadyException", 429, "The model is not ready for inference requests. Try your request again."),
    ("ModelStreamErrorException", 424, FAILED),
    ("ModelTimeoutException", 408, "Model has timed out in processing the request. Try your request again."),
    ("ResourceNotFoundException", 404, "Could not resolve the foundation model from the provided model identifier."),
    ("ServiceUnavailableException", 503, "Bedrock is unable to process your request."),
    ("ThrottlingException", 429, "Too many requests, please wait before trying again."),
    ("ValidationException", 400, "The provided request is not valid. Check the request and try again."),
];

/// An exception by its name. An exception that is not in the table has status 400.
#[derive(Debug, Clone, Copy)]
pub(in crate::testing) struct Exception(pub(super) &'static str);

impl Exception {
    pub(super) const VALIDATION: Self = Self("ValidationException");

    /// Returns the value of the header `x-amzn-errortype`.
    pub(in crate::testing) fn name(self) -> &'static str {
        self.0
    }

    /// Returns the value of an event's header `:exception-type`.
    pub(super) fn event_name(self) -> String {
        let (first, rest) = self.0.split_at(self.0.ceil_char_boundary(1.min(self.0.len())));
        first.to_lowercase() + rest
    }

    pub(in crate::testing) fn status(self) -> u16 {
        self.row().0
    }

    /// Returns Bedrock's message.
    pub(in crate::testing) fn wording(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (u16, &'static str) {
        let row = EXCEPTIONS.iter().find(|(name, ..)| *name == self.0);
        row.map_or((400, FAILED), |(_, status, wording)| (*status, wording))
    }
}
