//! The errors of failed requests.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ConnectorError, ProvideErrorMetadata, SdkError};

use crate::log::{LogError, LogErrorKind};

/// Returns the error of a request. It names the subject and the next step, and never shows the words of a caller.
pub(super) fn of_request<E>(
    operation: &'static str,
    subject: impl fmt::Display,
    error: SdkError<E, HttpResponse>,
) -> LogError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
{
    let (kind, reason) = classify(&error);
    // `Debug` of the error prints the whole response; for a request that was not sent, it prints the request.
    let source = match error {
        SdkError::DispatchFailure(failure) => failure.as_connector_error().map_or_else(|| NOT_SENT.into(), root_of),
        error => error.into_source().unwrap_or_else(|error| error.to_string().into()),
    };
    LogError::new(kind, format!("{operation} of {subject} failed: {reason}")).with_source(source)
}

/// Returns the text of the first cause, which is about a socket, an address or credentials.
fn root_of(error: &ConnectorError) -> Box<dyn Error + Send + Sync> {
    let mut root: &dyn Error = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root.to_string().into()
}

/// An item that cannot be read. A retry fails again.
pub(super) fn unreadable(message: String) -> LogError {
    LogError::new(LogErrorKind::Damaged, message)
}

/// The kind of a failed request, and the end of its error text.
type Failure = (LogErrorKind, Cow<'static, str>);

const UNREACHABLE: Failure =
    for_now("DynamoDB cannot be reached; check the network and the endpoint, then repeat the request");
const TIMEOUT: Failure = for_now("no response arrived in time; the request may have succeeded, so repeat it");
const THROTTLED: Failure = for_now("DynamoDB throttled the request; repeat it later");
const SERVER: Failure = for_now("DynamoDB had an internal error; repeat the request");
const NOT_SENT: &str = "the request was not sent; check the region, the credentials and the endpoint";
const NO_TABLE: &str = "there is no such table; create it, or check its name, region and account";

const NO_INDEX: &str =
    "the table does not have the index, or still fills it; add it with all attributes, as `infra/` defines it";

/// Returns whether DynamoDB does not have an index, or is still filling a new one.
fn is_about_an_index(message: &str) -> bool {
    message.contains("specified index") || message.contains("backfilling")
}

const fn for_now(reason: &'static str) -> Failure {
    (LogErrorKind::Unavailable, Cow::Borrowed(reason))
}

fn classify<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Failure {
    match error {
        SdkError::TimeoutError(_) => TIMEOUT,
        SdkError::DispatchFailure(failure) if failure.is_timeout() => TIMEOUT,
        SdkError::DispatchFailure(failure) if failure.is_io() => UNREACHABLE,
        SdkError::ResponseError(_) => UNREACHABLE,
        SdkError::ServiceError(context) => {
            let is_server_error = context.raw().status().is_server_error();
            match context.err().code() {
                Some("ValidationException") if context.err().message().is_some_and(is_about_an_index) => {
                    (LogErrorKind::NeedsOperator, NO_INDEX.into())
                }
                Some(code) => classify_code(code, is_server_error),
                // A proxy responded instead of DynamoDB, or damaged the response.
                None if is_server_error => SERVER,
                None => UNREACHABLE,
            }
        }
        _ => (LogErrorKind::NeedsOperator, NOT_SENT.into()),
    }
}

fn classify_code(code: &str, is_server_error: bool) -> Failure {
    match code {
        "ProvisionedThroughputExceededException"
        | "RequestLimitExceeded"
        | "ThrottlingException"
        | "LimitExceededException"
        | "TransactionConflictException"
        // The transactions here have no conditions, so only a conflict or throttling cancels one.
        | "TransactionCanceledException"
        | "TransactionInProgressException" => THROTTLED,
        "ResourceNotFoundException" => (LogErrorKind::NeedsOperator, NO_TABLE.into()),
        "AccessDeniedException"
        | "UnrecognizedClientException"
        | "MissingAuthenticationTokenException"
        | "MissingAuthenticationToken"
        | "ExpiredTokenException"
        | "ExpiredToken"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "IncompleteSignatureException" => {
            let reason = format!("access denied ({code}); check the credentials and their policy");
            (LogErrorKind::NeedsOperator, reason.into())
        }
        _ if is_server_error => SERVER,
        "ValidationException" | "SerializationException" | "ItemCollectionSizeLimitExceededException" => {
            let reason = format!("DynamoDB rejected the request ({code}); see the source of this error");
            (LogErrorKind::Refused, reason.into())
        }
        // Other codes are not about the record, so an operator can fix the cause without losing anything.
        _ => {
            let reason = format!("DynamoDB cannot serve the request ({code}); fix the cause, then repeat the request");
            (LogErrorKind::NeedsOperator, reason.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_code_decides_kind() {
        for (code, is_server_error, kind) in [
            ("ThrottlingException", false, LogErrorKind::Unavailable),
            ("InternalServerError", true, LogErrorKind::Unavailable),
            ("ResourceNotFoundException", false, LogErrorKind::NeedsOperator),
            ("AccessDeniedException", false, LogErrorKind::NeedsOperator),
            ("ExpiredTokenException", false, LogErrorKind::NeedsOperator),
            ("KMSDisabledException", false, LogErrorKind::NeedsOperator),
            ("ValidationException", false, LogErrorKind::Refused),
        ] {
            assert_eq!(classify_code(code, is_server_error).0, kind, "{code}");
        }
    }
}
