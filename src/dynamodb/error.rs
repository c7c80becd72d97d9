//! [`DynamoError`]: the error of a request, an item or the table.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::log::{LogError, Remedy};

/// An error of a request, an item or the table.
///
/// The text names the call, the key or the table, and the next step. Neither the text nor `Debug` shows the words of a
/// caller. If a request of a [`DynamoLog`](super::DynamoLog) fails, this error is the source of its [`LogError`].
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DynamoError(Repr);

/// The kinds of [`DynamoError`] that a caller may handle differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DynamoErrorKind {
    /// No usable response arrived: a timeout or a broken connection. The request may have succeeded.
    Unreachable,
    /// DynamoDB throttled the request or failed, or the operation did not finish. Repeat it later.
    Busy,
    /// The table does not exist, or exists with other keys, index or time to live.
    Table,
    /// The credentials are wrong or expired, or do not allow the request.
    Denied,
    /// The record exceeds the 400 KB of an item. Keep its large contents in a content store; see
    /// [`Offloading`](crate::log::Offloading).
    TooLarge,
    /// An item is not a valid record or header, or has an unknown schema version.
    Unreadable,
    /// Any other error.
    Other,
}

#[derive(Debug, thiserror::Error)]
enum Repr {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("{message}")]
    Dynamo { kind: DynamoErrorKind, remedy: Remedy, message: Box<str>, source: Option<Box<dyn Error + Send + Sync>> },
}

impl DynamoError {
    pub(super) fn new(kind: DynamoErrorKind, remedy: Remedy, message: impl Into<Box<str>>) -> Self {
        Self(Repr::Dynamo { kind, remedy, message: message.into(), source: None })
    }

    /// An item that cannot be read. Doing the same again fails again.
    pub(super) fn unreadable(message: impl Into<Box<str>>) -> Self {
        Self::new(DynamoErrorKind::Unreadable, Remedy::None, message)
    }

    pub(super) fn with_source(mut self, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        if let Repr::Dynamo { source, .. } = &mut self.0 {
            *source = Some(error.into());
        }
        self
    }

    pub(super) fn request<E>(
        operation: &'static str,
        subject: impl fmt::Display,
        error: SdkError<E, HttpResponse>,
    ) -> Self
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        let (kind, remedy, reason) = classify(&error);
        // The `Debug` of the error itself prints the whole response.
        let source = error.into_source().unwrap_or_else(|error| error.to_string().into());
        Self::new(kind, remedy, format!("{operation} of {subject} failed: {reason}")).with_source(source)
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> DynamoErrorKind {
        match &self.0 {
            Repr::Log(_) => DynamoErrorKind::Other,
            Repr::Dynamo { kind, .. } => *kind,
        }
    }

    /// Returns how a caller can react: by a retry, with an operator, or not at all. Writing a record again is always
    /// safe.
    pub fn remedy(&self) -> Remedy {
        match &self.0 {
            Repr::Log(error) => error.remedy(),
            Repr::Dynamo { remedy, .. } => *remedy,
        }
    }

    /// Converts to the error of the port: `operation` failed.
    pub(super) fn into_log_error(self, operation: String) -> LogError {
        match self.0 {
            Repr::Log(error) => error,
            Repr::Dynamo { .. } => LogError::backend(operation, self.remedy(), self),
        }
    }
}

impl From<LogError> for DynamoError {
    fn from(error: LogError) -> Self {
        Self(Repr::Log(error))
    }
}

/// The kind and remedy of a failed request, and the end of its error text.
type Failure = (DynamoErrorKind, Remedy, Cow<'static, str>);

const UNREACHABLE: Failure = retry(
    DynamoErrorKind::Unreachable,
    "DynamoDB cannot be reached; check the network and the endpoint, then repeat the request",
);
const TIMEOUT: Failure =
    retry(DynamoErrorKind::Unreachable, "no response arrived in time; the request may have succeeded, so repeat it");
const THROTTLED: Failure = retry(DynamoErrorKind::Busy, "DynamoDB throttled the request; repeat it later");
const SERVER: Failure = retry(DynamoErrorKind::Busy, "DynamoDB had an internal error; repeat the request");
const NOT_SENT: &str = "the request was not sent; check the region, the credentials and the endpoint";
const NO_TABLE: &str = "there is no such table; create it, or check its name, region and account";

const fn retry(kind: DynamoErrorKind, reason: &'static str) -> Failure {
    (kind, Remedy::Retry, Cow::Borrowed(reason))
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
                Some(code) => classify_code(code, is_server_error),
                // A proxy responded instead of DynamoDB, or damaged the response.
                None if is_server_error => SERVER,
                None => UNREACHABLE,
            }
        }
        _ => (DynamoErrorKind::Other, Remedy::Operator, NOT_SENT.into()),
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
        "ResourceNotFoundException" => (DynamoErrorKind::Table, Remedy::Operator, NO_TABLE.into()),
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
            (DynamoErrorKind::Denied, Remedy::Operator, reason.into())
        }
        _ if is_server_error => SERVER,
        "ValidationException" | "SerializationException" | "ItemCollectionSizeLimitExceededException" => {
            let reason = format!("DynamoDB rejected the request ({code}); see the source of this error");
            (DynamoErrorKind::Other, Remedy::None, reason.into())
        }
        // No other code blames the record, so an operator can fix the cause and nothing is lost.
        _ => {
            let reason = format!("DynamoDB cannot serve the request ({code}); fix the cause, then repeat the request");
            (DynamoErrorKind::Other, Remedy::Operator, reason.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_code_decides_kind_and_remedy() {
        for (code, is_server_error, kind, remedy) in [
            ("ThrottlingException", false, DynamoErrorKind::Busy, Remedy::Retry),
            ("InternalServerError", true, DynamoErrorKind::Busy, Remedy::Retry),
            ("ResourceNotFoundException", false, DynamoErrorKind::Table, Remedy::Operator),
            ("AccessDeniedException", false, DynamoErrorKind::Denied, Remedy::Operator),
            ("ExpiredTokenException", false, DynamoErrorKind::Denied, Remedy::Operator),
            ("KMSDisabledException", false, DynamoErrorKind::Other, Remedy::Operator),
            ("ValidationException", false, DynamoErrorKind::Other, Remedy::None),
        ] {
            let failure = classify_code(code, is_server_error);
            assert_eq!((failure.0, failure.1), (kind, remedy), "{code}");
        }
    }
}
