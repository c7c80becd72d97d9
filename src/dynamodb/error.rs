//! [`DynamoError`]: why something could not be stored or read, and what to do about it.

use std::error::Error;
use std::fmt;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use super::attribute::AttributeError;
use super::keys::ItemKey;
use super::size::MAX_ITEM_BYTES;
use crate::log::{CallId, InvalidCallId};
use crate::manager::RestoreError;
use crate::message::MessageId;

/// Why something could not be stored or read: which call, which key, what to do. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DynamoError {
    /// A call id that a key cannot hold, or that cannot be printed.
    #[error(transparent)]
    InvalidCallId(#[from] InvalidCallId),
    /// A record that cannot be an item. None is known.
    #[error("{key} cannot be an item; nothing was sent")]
    Unstorable {
        /// Where it would stand.
        key: ItemKey,
        /// Why.
        source: AttributeError,
    },
    /// DynamoDB takes 400 KB an item.
    #[error(
        "{key} takes {bytes} bytes and DynamoDB takes {MAX_ITEM_BYTES}; nothing was sent: keep large contents in a \
         content store and log their ids"
    )]
    TooLarge {
        /// Where it would stand.
        key: ItemKey,
        /// Its size as DynamoDB counts.
        bytes: usize,
    },
    /// Another message stands where this one belongs.
    #[error(
        "{key} is message {found} in the table, not {id}; nothing was written: two writers log this call, stop one \
         and restore the call from the table"
    )]
    OtherMessage {
        /// Where both belong.
        key: ItemKey,
        /// The message that was to be written.
        id: MessageId,
        /// The message that is there.
        found: MessageId,
    },
    /// The same message at the same revision with other contents.
    #[error(
        "{key}, message {id}, is in the table with other contents at the same revision {revision}; nothing was \
         written: two writers log this call, stop one and restore the call from the table"
    )]
    OtherContents {
        /// Where it stands.
        key: ItemKey,
        /// The message.
        id: MessageId,
        /// The revision that both have.
        revision: u32,
    },
    /// The call was erased, and stays so.
    #[error("call {call_id} was erased; nothing of it is written any more: drop what is still to be logged of it")]
    Erased {
        /// The call.
        call_id: CallId,
    },
    /// The call was opened with another start or tenant.
    #[error("call {call_id} was opened with another start or tenant; nothing was written: give each call its own id")]
    OtherHeader {
        /// The call.
        call_id: CallId,
    },
    /// DynamoDB did not get to all items of an erased call.
    #[error("{left} items of call {call_id} are not erased yet; nobody can read them any more: erase it again")]
    PartlyErased {
        /// The call.
        call_id: CallId,
        /// How many items are left, at least.
        left: usize,
    },
    /// An item that has not the keys of a message or a summary.
    #[error("an item is not that of a message or a summary: {reason}")]
    NotAnItem {
        /// What is missing or wrong.
        reason: &'static str,
    },
    /// An item that does not read as a record.
    #[error("{key} does not read as a record; look at the item, another program may have written it")]
    Unreadable {
        /// Where it stands.
        key: ItemKey,
        /// Why.
        source: AttributeError,
    },
    /// An item of a schema version that this version does not know.
    #[error("{key} has {}; read it with the version that wrote it", schema_text(.version))]
    UnknownSchema {
        /// Where it stands.
        key: ItemKey,
        /// Its schema version, where it has one.
        version: Option<u32>,
    },
    /// The records of a call do not make a conversation.
    #[error("call {call_id} cannot be restored; `read` gives its records as they are")]
    NoConversation {
        /// The call.
        call_id: CallId,
        /// Why.
        source: RestoreError,
    },
    /// A table of this name exists and is another.
    #[error("table {table} exists, and {difference}; use another table name, or delete the table if it is not needed")]
    OtherTable {
        /// The name of the table.
        table: Box<str>,
        /// What differs.
        difference: Box<str>,
    },
    /// The table did not become active in time.
    #[error("table {table} is not active after {waited_s} seconds (it is {status}); create it again, which waits on")]
    TableNotActive {
        /// The name of the table.
        table: Box<str>,
        /// Seconds waited.
        waited_s: u64,
        /// Its status.
        status: Box<str>,
    },
    /// A request failed.
    #[error("{operation} of {subject} failed: {failure}")]
    Request {
        /// The operation of DynamoDB.
        operation: &'static str,
        /// What it was about.
        subject: Box<str>,
        /// What went wrong, and what to do.
        failure: Failure,
        /// The error of the SDK.
        source: Box<dyn Error + Send + Sync>,
    },
}

fn schema_text(version: &Option<u32>) -> String {
    match version {
        Some(version) => format!("schema version {version}"),
        None => "no schema version".to_owned(),
    }
}

impl DynamoError {
    /// Whether the same may succeed later. Writing a record again is always safe.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::TableNotActive { .. } | Self::PartlyErased { .. } => true,
            Self::Request { failure, .. } => failure.is_retryable(),
            _ => false,
        }
    }

    /// Whether the table holds something else than this writer believes: two writers log one call.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::OtherMessage { .. } | Self::OtherContents { .. } | Self::OtherHeader { .. })
    }

    /// Whether the next record would fail as well.
    pub(super) fn is_of_all_records(&self) -> bool {
        match self {
            Self::Erased { .. } => true,
            Self::Request { failure, .. } => !matches!(failure, Failure::Refused(_)),
            _ => false,
        }
    }

    pub(super) fn request<E>(
        operation: &'static str,
        subject: impl fmt::Display,
        error: SdkError<E, HttpResponse>,
    ) -> Self
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        let failure = Failure::of(&error);
        // Not the error itself: its `Debug` prints the whole response.
        let source = error.into_source().unwrap_or_else(|error| error.to_string().into());
        Self::Request { operation, subject: subject.to_string().into(), failure, source }
    }
}

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
    /// Refused for another reason.
    Refused(Box<str>),
}

impl Failure {
    fn of<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Self {
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
            | "TransactionConflictException"
            // The transactions here have no conditions: it is others, or too many, that cancel one.
            | "TransactionCanceledException"
            | "TransactionInProgressException" => Self::Throttled,
            "ResourceNotFoundException" => Self::NoTable,
            "AccessDeniedException"
            | "UnrecognizedClientException"
            | "MissingAuthenticationTokenException"
            | "ExpiredTokenException"
            | "InvalidSignatureException"
            | "IncompleteSignatureException" => Self::Denied(code.into()),
            _ if is_server_error => Self::Server,
            _ => Self::Refused(code.into()),
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(self, Self::Timeout | Self::Unreachable | Self::Throttled | Self::Server)
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_whether_another_try_may_help() {
        for (code, is_server_error, failure, is_retryable) in [
            ("ThrottlingException", false, Failure::Throttled, true),
            ("InternalServerError", true, Failure::Server, true),
            ("ResourceNotFoundException", false, Failure::NoTable, false),
            ("AccessDeniedException", false, Failure::Denied("AccessDeniedException".into()), false),
            ("ValidationException", false, Failure::Refused("ValidationException".into()), false),
        ] {
            assert_eq!(Failure::of_code(code, is_server_error), failure);
            assert_eq!(failure.is_retryable(), is_retryable, "{code}");
        }
    }
}
