//! [`Failure`]: how a failed tool call stands in the formats of which a result has a key `error`.

use super::block::optional_text;
use super::error::ExchangeError;
use super::export::{Losses, Lost};
use super::reader::Reader;
use super::writer::Writer;
use crate::message::{InvocationError, MessageId, Text};

/// What is read of a failed tool call: `error`, and where they are known `error_type` and `retryable`.
#[derive(Default)]
pub(super) struct Failure {
    message: Option<Text>,
    kind: Option<Text>,
    retryable: Option<bool>,
}

impl Failure {
    /// Reads the value under one of the three keys.
    pub fn read(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<(), ExchangeError> {
        match key {
            "error" => self.message = optional_text(reader)?,
            "error_type" => self.kind = optional_text(reader)?,
            _ if reader.null()? => {}
            _ => self.retryable = Some(reader.bool()?),
        }
        Ok(())
    }

    /// The error of the result which the reader has just read; `None` of a call that succeeded.
    pub fn into_error(self, reader: &Reader<'_>) -> Result<Option<InvocationError>, ExchangeError> {
        let Some(message) = self.message else {
            let alone = self.kind.is_some() || self.retryable.is_some();
            return if alone { Err(reader.missing("error")) } else { Ok(None) };
        };
        let error = InvocationError::new(message).map_err(|error| reader.error(error))?;
        let error = self.kind.into_iter().fold(error, InvocationError::with_type);
        Ok(Some(self.retryable.into_iter().fold(error, InvocationError::with_retryable)))
    }
}

/// Writes the entries of a failed tool call into the object that is being written.
pub(super) fn write(writer: &mut Writer, error: &InvocationError, of: MessageId, losses: &mut Losses) {
    writer.key("error").string(error.message());
    error.error_type().into_iter().for_each(|kind| writer.key("error_type").string(kind));
    error.retryable().into_iter().for_each(|retryable| writer.key("retryable").bool(retryable));
    if error.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
}
