//! Maps errors of the SDK to errors of a model.
//!
//! Only errors of sending are kept as the source. The SDK's other errors hold the response, which may quote the caller.

use std::time::Duration;

use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_bedrockruntime::operation::RequestId;
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError as Exception;
use aws_smithy_types::event_stream::RawMessage;

use super::refused::Refused;
use super::response::ErrorResponse;
use crate::model::{Failure, ModelError, Partial, wait};

/// Returns Bedrock's message if it refuses a request as invalid before the answer.
pub(super) fn sent_refusal<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Option<Refused> {
    let SdkError::ServiceError(service) = error else { return None };
    let is_invalid = service.raw().status().as_u16() == 400 && service.err().code() == Some("ValidationException");
    service.err().message().filter(|_| is_invalid).map(|message| Refused(message.to_owned()))
}

/// Returns Bedrock's message if it refuses a request as invalid within the answer.
pub(super) fn streamed_refusal(error: &SdkError<Exception, RawMessage>) -> Option<Refused> {
    match error.as_service_error() {
        Some(Exception::ValidationException(refused)) => refused.message().map(|message| Refused(message.to_owned())),
        _ => None,
    }
}

/// Maps an error before the answer to an error of the model.
pub(super) fn send_error<E>(error: SdkError<E, HttpResponse>, received: Partial, waited: Duration) -> ModelError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let failure = match &error {
        SdkError::ServiceError(service) if service.raw().status().is_success() => {
            Failure::Malformed("Bedrock's response".to_owned())
        }
        SdkError::ServiceError(service) => ErrorResponse {
            code: service.err().code(),
            status: Some(service.raw().status().as_u16()),
            message: service.err().message(),
            request_id: error.request_id(),
        }
        .failure(),
        SdkError::TimeoutError(_) => Failure::TimedOut { wait: wait::WHOLE_ANSWER, after: waited },
        SdkError::DispatchFailure(dispatch) if dispatch.is_timeout() => {
            Failure::TimedOut { wait: wait::CONNECTION, after: waited }
        }
        SdkError::DispatchFailure(dispatch) if dispatch.is_other() && dispatch.as_other().is_none() => {
            // Credentials, region or endpoint are missing.
            Failure::Denied("the SDK did not send the request; see the source of this error".to_owned())
        }
        SdkError::DispatchFailure(_) => Failure::Unreachable,
        SdkError::ConstructionFailure(_) => Failure::Invalid("the SDK did not build the request".to_owned()),
        // The response ended within its body.
        _ => Failure::Cut,
    };
    let is_safe = matches!(error, SdkError::TimeoutError(_) | SdkError::DispatchFailure(_));
    let model_error = ModelError::after(failure, received);
    match error.into_source() {
        Ok(source) if is_safe => model_error.with_source(source),
        _ => model_error,
    }
}

/// Maps an error within the answer. An exception there has no error code and no request id.
pub(super) fn stream_error(
    error: SdkError<Exception, RawMessage>,
    received: Partial,
    request_id: Option<&str>,
) -> ModelError {
    match error {
        SdkError::ServiceError(service) => {
            let exception = service.err();
            let code = match exception {
                Exception::InternalServerException(_) => Some("InternalServerException"),
                Exception::ModelStreamErrorException(_) => Some("ModelStreamErrorException"),
                Exception::ServiceUnavailableException(_) => Some("ServiceUnavailableException"),
                Exception::ThrottlingException(_) => Some("ThrottlingException"),
                Exception::ValidationException(_) => Some("ValidationException"),
                other => other.code(),
            };
            let response = ErrorResponse { code, status: None, message: exception.message(), request_id };
            ModelError::after(response.failure(), received)
        }
        SdkError::DispatchFailure(dispatch) => {
            let model_error = ModelError::after(Failure::Cut, received);
            match SdkError::<Exception, RawMessage>::DispatchFailure(dispatch).into_source() {
                Ok(source) => model_error.with_source(source),
                Err(_) => model_error,
            }
        }
        // The stream ended within an event.
        SdkError::ResponseError(response) if matches!(response.raw(), RawMessage::Invalid(Some(_))) => {
            ModelError::after(Failure::Cut, received)
        }
        _ => ModelError::after(Failure::Malformed("an event of the stream".to_owned()), received),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn stream_that_ends_within_an_event_is_cut() {
        let received = Partial { text_bytes: 7, tool_calls: 1 };
        let broken = |raw| stream_error(SdkError::response_error("4711", raw), received, None);
        for (raw, failure) in [
            (RawMessage::Invalid(Some(Bytes::from_static(b"4711"))), Failure::Cut),
            (RawMessage::Invalid(None), Failure::Malformed("an event of the stream".to_owned())),
        ] {
            let error = broken(raw);
            assert_eq!((error.kind(), error.received()), (&failure, received));
            assert!(!format!("{error:?}").contains("4711"));
        }
    }
}
