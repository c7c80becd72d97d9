//! [`BedrockException`]: the errors of Converse, with the status, the names and the words that Bedrock has for them.

/// An error of Converse. Before an answer it is an HTTP status, inside a stream an event.
///
/// Inside a stream the SDK knows `InternalServer`, `ModelStreamError`, `ServiceUnavailable`, `Throttling` and
/// `Validation`; any other one is unhandled there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BedrockException {
    /// 403: no access to the model.
    AccessDenied,
    /// 500: Bedrock has failed.
    InternalServer,
    /// 424: the model has failed.
    ModelError,
    /// 429: the model is being loaded. Of all errors of the status 429 the one that the SDK tries again by itself for
    /// long.
    ModelNotReady,
    /// 424: the model has failed in the middle of its answer.
    ModelStreamError,
    /// 408: the model took too long.
    ModelTimeout,
    /// 404: no such model.
    ResourceNotFound,
    /// 503: Bedrock has no capacity.
    ServiceUnavailable,
    /// 429: too many requests.
    Throttling,
    /// 400: Bedrock does not take the request.
    Validation,
}

impl BedrockException {
    /// As it stands in the header `x-amzn-errortype`.
    pub(super) fn name(self) -> &'static str {
        self.row().0
    }

    /// As it stands in the header `:exception-type` of an event.
    pub(super) fn event_name(self) -> &'static str {
        self.row().1
    }

    pub(super) fn status(self) -> u16 {
        self.row().2
    }

    /// What Bedrock says with it.
    pub(super) fn wording(self) -> &'static str {
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
