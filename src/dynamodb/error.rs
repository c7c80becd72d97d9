//! [`DynamoError`]: why something could not be stored or read, and what to do about it.

use std::error::Error;
use std::fmt;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use super::Failure;
use super::attribute::AttributeError;
use super::keys::ItemKey;
use super::size::MAX_RECORD_BYTES;
use crate::log::{CallId, LogError, Remedy};

/// Why something could not be stored or read: which call, which key, what to do. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DynamoError {
    /// What any log may answer: fenced, erased, held, not opened, in conflict, or not the id of a call.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A record that cannot be an item. None is known.
    #[error("{key} cannot be an item; nothing was sent")]
    Unstorable {
        /// Where it would stand.
        key: ItemKey,
        /// Why.
        source: AttributeError,
    },
    /// DynamoDB takes 400 KB an item; see [`MAX_RECORD_BYTES`].
    #[error(
        "{key} takes {bytes} bytes and an item has room for {MAX_RECORD_BYTES}; nothing was sent: keep large contents \
         in a content store and log their ids"
    )]
    TooLarge {
        /// Where it would stand.
        key: ItemKey,
        /// Its size as DynamoDB counts.
        bytes: usize,
    },
    /// The older writer of a call that is resumed wrote faster than it could be fenced.
    #[error("call {call_id} is still being written by an older writer, which is not fenced yet: resume it again")]
    NotFenced {
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
    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::TableNotActive { .. } | Self::PartlyErased { .. } | Self::NotFenced { .. } => Remedy::Retry,
            Self::OtherTable { .. } => Remedy::Operator,
            Self::Request { failure, .. } => failure.remedy(),
            Self::Log(error) => error.remedy(),
            _ => Remedy::None,
        }
    }

    /// Whether the same may succeed later, by itself. Writing a record again is always safe.
    pub fn is_retryable(&self) -> bool {
        self.remedy() == Remedy::Retry
    }

    /// As the port has it: `operation` failed.
    pub(super) fn into_log_error(self, operation: String) -> LogError {
        match self {
            Self::Log(error) => error,
            error => LogError::backend(operation, error.remedy(), error),
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
