//! [`Answer`]: what is read of a tool call's result, beside the call or in an item of its own.

use crate::exchange::failure::Failure;
use crate::exchange::lexer::Kind;
use crate::exchange::reader::Reader;
use crate::exchange::{ExchangeError, Problem, block, value};
use crate::message::{InvocationId, Outcome, ResultContent, ToolName};

/// What is read of a tool call's result, and of which call it is.
#[derive(Default)]
pub(super) struct Answer {
    id: Option<InvocationId>,
    name: Option<ToolName>,
    /// What `result` says: nothing, a text, or data.
    result: Option<Vec<ResultContent>>,
    parts: Option<Vec<ResultContent>>,
    failure: Failure,
}

impl Answer {
    /// Reads the value under one of its keys; others are skipped.
    pub fn read(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<(), ExchangeError> {
        match key {
            "tool_call_id" => {
                let id = reader.text()?;
                self.id = Some(InvocationId::new(id).map_err(|error| reader.error(error))?);
            }
            "tool_name" => {
                let name = reader.text()?;
                self.name = Some(ToolName::new(name).map_err(|error| reader.error(error))?);
            }
            "result" => self.result = Some(one(reader)?),
            "result_contents" if !reader.null()? => self.parts = Some(block::read_parts(reader)?),
            "result_contents" => {}
            "error" | "error_type" | "retryable" => self.failure.read(reader, key)?,
            _ => reader.skip()?,
        }
        Ok(())
    }

    /// The call that it is of: the id, and the tool. Both have to be there.
    pub fn take_call(&mut self, reader: &Reader<'_>) -> Result<(InvocationId, ToolName), ExchangeError> {
        let id = self.id.take().ok_or_else(|| reader.missing("tool_call_id"))?;
        Ok((id, self.name.take().ok_or_else(|| reader.missing("tool_name"))?))
    }

    /// What came of the call; `None` where nothing is said of it.
    pub fn into_outcome(self, reader: &Reader<'_>) -> Result<Option<Outcome>, ExchangeError> {
        let error = self.failure.into_error(reader)?;
        let says_something = self.result.as_ref().is_some_and(|result| !result.is_empty());
        Ok(Some(match (self.parts, error) {
            (None, None) => return Ok(self.result.map(Outcome::Success)),
            (Some(parts), None) if !says_something => Outcome::Success(parts),
            (None, Some(error)) if !says_something => Outcome::Failure(error),
            _ => {
                const REASON: &str = "a result is one of `result`, `result_contents` and `error`: the others are null";
                return Err(reader.error(Problem::Invalid { reason: REASON }));
            }
        }))
    }
}

fn one(reader: &mut Reader<'_>) -> Result<Vec<ResultContent>, ExchangeError> {
    reader.take(size_of::<ResultContent>())?;
    Ok(match reader.kind()? {
        Kind::Null => {
            reader.skip()?;
            Vec::new()
        }
        Kind::String => vec![ResultContent::Text(reader.text()?)],
        _ => vec![ResultContent::Json(value::read(reader)?)],
    })
}
