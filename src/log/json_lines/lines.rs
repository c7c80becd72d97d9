//! The lines of a call's file: records, headers, and the mark of an erased call.

mod damaged;

use std::io;

use serde::{Deserialize, Serialize};

use crate::log::call::Call;
use crate::log::stored::StoredHeader;
use crate::log::{CallHeader, CallId, Day};
use crate::manager::LeftOut;
use crate::message::Record;
use damaged::Damaged;

/// The start of the only line of an erased call.
const ERASED: &[u8] = b"{\"erased\":";

/// The start of a header's line. No record starts with it.
const HEADER: &[u8] = b"{\"call\":";

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    call: StoredHeader,
    v: u32,
}

/// The only line of an erased call. Older versions wrote `true` and no id.
#[derive(Serialize, Deserialize)]
struct ErasedLine {
    erased: serde_json::Value,
    #[serde(default)]
    id: String,
}

/// Encodes the line of a call that is erased on a day.
pub(super) fn of_erased(call_id: &CallId, day: Day) -> io::Result<Vec<u8>> {
    line(&ErasedLine { erased: day.to_string().into(), id: call_id.as_str().to_owned() })
}

/// Returns the id of a call whose file says that it was erased on a day.
pub(super) fn erased_on(text: &[u8], day: Day) -> Option<CallId> {
    let line: ErasedLine = serde_json::from_slice(text).ok()?;
    (erased_day(&line) == Some(day)).then(|| CallId::new(line.id).ok())?
}

fn erased_day(line: &ErasedLine) -> Option<Day> {
    line.erased.as_str()?.parse().ok()
}

/// Encodes a header.
pub(super) fn of_header(header: &CallHeader) -> io::Result<Vec<u8>> {
    // Serde writes the fields in their order, so the line starts with `HEADER`.
    line(&HeaderLine { call: header.into(), v: VERSION })
}

/// Encodes a record.
pub(super) fn of_record(record: &Record) -> io::Result<Vec<u8>> {
    line(record)
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// The contents of the file of a call.
pub(super) struct Lines {
    pub call: Call,
    /// The offset where the last whole line ends. The rest was torn by a crash.
    pub end: usize,
    /// The records whose lines are damaged.
    pub left_out: Vec<LeftOut>,
}

/// Reads the file of a call without its damaged records.
///
/// Fails if the last header cannot be read or belongs to another call, because the header names the writer of the call,
/// or if no line can be read. The error does not quote a line.
pub(super) fn read(text: &[u8], call_id: &CallId) -> io::Result<Lines> {
    let mut call = Call::default();
    let (mut end, mut damaged, mut lost_header) = (0, Vec::new(), None);
    for (number, line) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        if !line.ends_with(b"\n") {
            break;
        }
        end += line.len();
        if line.starts_with(ERASED) {
            call = Call::Erased(serde_json::from_slice(line).ok().as_ref().and_then(erased_day));
        } else if line.starts_with(HEADER) {
            match header(line).filter(|header| header.call_id() == call_id) {
                Some(header) => {
                    call.set_header(header);
                    lost_header = None;
                }
                None => lost_header = Some(number),
            }
        } else if let Ok(record) = serde_json::from_slice::<Record>(line) {
            call.replay(record);
        } else {
            damaged.push(Damaged::of(number, line));
        }
    }
    if let Some(number) = lost_header {
        return Err(bad_line(number, "the header of this call in a known version"));
    }
    match (&call, damaged.first()) {
        (Call::Unknown, Some(first)) => Err(bad_line(first.number, "a record")),
        _ => Ok(Lines { left_out: damaged::left_out(&call, damaged), call, end }),
    }
}

/// Returns the last header in the file of a call; `None` if the call was never opened or was erased.
pub(super) fn find_header(text: &[u8]) -> io::Result<Option<CallHeader>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let found = (1..).zip(lines).filter(|(_, line)| line.starts_with(HEADER) && line.ends_with(b"\n")).last();
    found.map(|(number, line)| header(line).ok_or_else(|| bad_line(number, "a header"))).transpose()
}

fn header(line: &[u8]) -> Option<CallHeader> {
    let line: HeaderLine = serde_json::from_slice(line).ok().filter(|line: &HeaderLine| line.v == VERSION)?;
    line.call.try_into().ok()
}

fn bad_line(number: usize, expected: &str) -> io::Error {
    let text = format!("line {number} is not {expected}; check the file, another program may have written it");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
