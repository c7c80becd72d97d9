//! Plain JSON as a [`Value`], within a budget.

use super::budget;
use super::error::{ExchangeError, Problem};
use super::lexer::Kind;
use super::reader::Reader;
use crate::message::{Entries, List, MAX_DEPTH, Map, MessageError, Value};

/// The value here: plain JSON, no tags read, each number exactly.
///
/// Errors: a number that a [`Value`] cannot hold, nested deeper than it nests, a key that comes twice in one object.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Value, ExchangeError> {
    read_below(reader, MAX_DEPTH)
}

fn read_below(reader: &mut Reader<'_>, depth: u8) -> Result<Value, ExchangeError> {
    Ok(match reader.kind()? {
        Kind::Null => {
            reader.null()?;
            Value::Null
        }
        Kind::Bool => Value::Bool(reader.bool()?),
        Kind::Number => Value::Number(reader.number()?),
        Kind::String => Value::String(reader.text()?),
        Kind::List => {
            let depth = deeper(reader, depth)?;
            let count = reader.count()?;
            reader.take(budget::list_bytes(count))?;
            let mut items = Vec::with_capacity(count);
            reader.list(|reader| {
                items.push(read_below(reader, depth)?);
                Ok(())
            })?;
            Value::List(List::new(items).map_err(|error| reader.error(error))?)
        }
        Kind::Object => {
            let depth = deeper(reader, depth)?;
            let count = reader.count()?;
            reader.take(budget::map_bytes(count))?;
            let mut entries = Vec::with_capacity(count);
            reader.entries(|reader, key| {
                reader.take(key.len())?;
                entries.push((key.unescaped().into_owned(), read_below(reader, depth)?));
                Ok(())
            })?;
            let entries = Entries::of(entries).ok_or_else(|| reader.error(Problem::RepeatedKey))?;
            Value::Map(Map::of(entries).map_err(|error| reader.error(error))?)
        }
    })
}

/// Said before what lies deeper is counted.
fn deeper(reader: &Reader<'_>, depth: u8) -> Result<u8, ExchangeError> {
    depth.checked_sub(1).ok_or_else(|| reader.error(MessageError::TooDeep))
}
