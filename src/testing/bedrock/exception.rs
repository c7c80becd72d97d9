//! [`BedrockException`]: the errors of Converse, with Bedrock's status, names and messages.

/// An error of Converse. Before the answer it is an HTTP status, within a stream an event.
///
/// Within a stream, the SDK knows `InternalServer`, `ModelStreamError`, `ServiceUnavailable`, `Throttling` and
/// `Validation`. It reports any other exception there as unhandled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BedrockException {
    /// 403: no access to the model.
    AccessDenied,
    /// 500: Bedrock failed.
    InternalServer,
    /// 424: the model failed.
    ModelError,
    /// 429: the model is loading. The SDK retries this error for longer than other errors with status 429.
    ModelNotReady,
    /// 424: the model failed within its answer.
    ModelStreamError,
    /// 408: the model took too long.
    ModelTimeout,
    /// 404: the model does not exist.
    ResourceNotFound,
    /// 503: Bedrock has no capacity.
    ServiceUnavailable,
    /// 429: too many requests.
    Throttling,
    /// 400: the request is invalid.
    Validation,
}

impl BedrockException {
    /// Returns the value of the header `x-amzn-errortype`.
    pub(in crate::testing) fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the value of an event's header `:exception-type`.
    pub(super) fn event_name(self) -> &'static str {
        self.row().1
    }

    pub(in crate::testing) fn status(self) -> u16 {
        self.row().2
    }

    /// Returns Bedrock's message.
    pub(in crate::testing) fn wording(self) -> &'static str {
        self.row().3
    }

    fn row(self) -> (&'static str, &'static str, u16, &'static str) {
        const FAILED: &str = "The system encountered an unexpected error during processing. Try your request again.";
        match self {
            Self::AccessDenied => (
                "AccessDeniedException",
                "accessDeniedException",
                403,
                "You don't have access to the model with the specified model ID.",
            ),
            Self::InternalServer => ("InternalServerException", "internalServerException", 500, FAILED),
            Self::ModelError => ("ModelErrorException", "modelErrorException", 424, FAILED),
            Self::ModelNotReady => (
                "ModelNotReadyException",
                "modelNotReadyException",
                429,
                "The model is not ready for inference requests. Try your request again.",
            ),
            Self::ModelStreamError => ("ModelStreamErrorException", "modelStreamErrorException", 424, FAILED),
            Self::ModelTimeout => (
                "ModelTimeoutException",
                "modelTimeoutException",
                408,
                "Model has timed out in processing the request. Try your request again.",
            ),
            Self::ResourceNotFound => (
                "ResourceNotFoundException",
                "resourceNotFoundException",
                404,
                "Could not resolve the foundation model from the provided model identifier.",
            ),
            Self::ServiceUnavailable => (
                "ServiceUnavailableException",
                "serviceUnavailableException",
                503,
                "Bedrock is unable to process your request.",
            ),
            Self::Throttling => (
                "ThrottlingException",
                "throttlingException",
                429,
                "Too many requests, please wait before trying again.",
            ),
            Self::Validation => (
                "ValidationException",
                "validationException",
                400,
                "The provided request is not valid. Check the request and try again.",
            ),
        }
    }
}
