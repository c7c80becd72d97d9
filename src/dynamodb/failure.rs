//! [`Failure`]: how a request failed, and what to do about it.

use std::fmt;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::log::Remedy;

/// How a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// No answer in time.
    Timeout,
    /// No connection, or a broken one, or an answer that makes no sense.
    Unreachable,
    /// The request could not be made.
    NotSent,
    /// Too many requests.
    Throttled,
    /// An error on the other side.
    Server,
    /// No table of that name.
    NoTable,
    /// Not allowed.
    Denied(Box<str>),
    /// Refused for what it holds.
    Refused(Box<str>),
    /// Refused for something around it: a key of KMS, an account, a table that is being restored.
    Blocked(Box<str>),
}

impl Failure {
    pub(super) fn of<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Self {
        match error {
            SdkError::TimeoutError(_) => Self::Timeout,
            SdkError::DispatchFailure(failure) if failure.is_timeout() => Self::Timeout,
            SdkError::DispatchFailure(failure) if failure.is_io() => Self::Unreachable,
            SdkError::ResponseError(_) => Self::Unreachable,
            SdkError::ServiceError(context) => {
                let is_server_error = context.raw().status().is_server_error();
                match context.err().code() {
                    Some(code) => Self::of_code(code, is_server_error),
                    // Something between here and DynamoDB answered, or broke the answer.
                    None if is_server_error => Self::Server,
                    None => Self::Unreachable,
                }
            }
            _ => Self::NotSent,
        }
    }

    fn of_code(code: &str, is_server_error: bool) -> Self {
        match code {
            "ProvisionedThroughputExceededException"
            | "RequestLimitExceeded"
            | "ThrottlingException"
            | "LimitExceededException"
            | "TransactionConflictException" => Self::Throttled,
            "ResourceNotFoundException" => Self::NoTable,
            "AccessDeniedException"
            | "UnrecognizedClientException"
            | "MissingAuthenticationTokenException"
            | "MissingAuthenticationToken"
            | "ExpiredTokenException"
            | "ExpiredToken"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "IncompleteSignatureException" => Self::Denied(code.into()),
            _ if is_server_error => Self::Server,
            "ValidationException" | "SerializationException" | "ItemCollectionSizeLimitExceededException" => {
                Self::Refused(code.into())
            }
            // Nothing of the record's own is known by another name: a person has to look, and nothing is lost.
            _ => Self::Blocked(code.into()),
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Timeout | Self::Unreachable | Self::Throttled | Self::Server => Remedy::Retry,
            Self::NotSent | Self::NoTable | Self::Denied(_) | Self::Blocked(_) => Remedy::Operator,
            Self::Refused(_) => Remedy::None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("no answer in time; it may have been done all the same, do it again"),
            Self::Unreachable => f.write_str("DynamoDB was not reached; check network and endpoint, do it again"),
            Self::NotSent => f.write_str("the request was not sent; check region, credentials and endpoint"),
            Self::Throttled => f.write_str("too many requests; do it again, later and slower"),
            Self::Server => f.write_str("an error in DynamoDB; do it again"),
            Self::NoTable => f.write_str("there is no such table; create it, or check its name, region and account"),
            Self::Denied(code) => write!(f, "not allowed ({code}); check the credentials and their policy"),
            Self::Refused(code) => write!(f, "DynamoDB refused it ({code}); the source of this error says why"),
            Self::Blocked(code) => write!(f, "DynamoDB cannot do it now ({code}); see why, mend that, do it again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_may_help() {
        let denied = |code: &str| Failure::Denied(code.into());
        for (code, is_server_error, failure, remedy) in [
            ("ThrottlingException", false, Failure::Throttled, Remedy::Retry),
            ("InternalServerError", true, Failure::Server, Remedy::Retry),
            ("ResourceNotFoundException", false, Failure::NoTable, Remedy::Operator),
            ("AccessDeniedException", false, denied("AccessDeniedException"), Remedy::Operator),
            ("ExpiredTokenException", false, denied("ExpiredTokenException"), Remedy::Operator),
            ("KMSDisabledException", false, Failure::Blocked("KMSDisabledException".into()), Remedy::Operator),
            ("ValidationException", false, Failure::Refused("ValidationException".into()), Remedy::None),
        ] {
            assert_eq!(Failure::of_code(code, is_server_error), failure);
            assert_eq!(failure.remedy(), remedy, "{code}");
        }
        assert_eq!((Failure::Timeout.remedy(), Failure::NotSent.remedy()), (Remedy::Retry, Remedy::Operator));
    }
}
