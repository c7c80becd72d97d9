//! The lines of a call's file: records, its header as it was each time it changed, and that it was erased.

use std::io;

use serde::{Deserialize, Serialize};

use crate::log::call::Call;
use crate::log::stored::StoredHeader;
use crate::log::{CallHeader, CallId};
use crate::message::Record;

/// The one line of an erased call.
pub(super) const ERASED: &str = "{\"erased\":true}\n";

/// What the line of a header begins with, and no record's.
const HEADER: &[u8] = b"{\"call\":";

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    call: StoredHeader,
    v: u32,
}

/// The line of a header. Errors: none is known, for all of it is text and numbers.
pub(super) fn of_header(header: &CallHeader) -> io::Result<Vec<u8>> {
    // The keys of a struct stand in their order: the line begins with `HEADER`.
    line(&HeaderLine { call: header.into(), v: VERSION })
}

/// The line of a record. Errors: a record that JSON cannot say; none is known.
pub(super) fn of_record(record: &Record) -> io::Result<Vec<u8>> {
    line(record)
}

fn line(of: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(of)?;
    line.push(b'\n');
    Ok(line)
}

/// What is in the file of a call, and where its last whole line ends. What stands behind that was torn by a crash.
///
/// Errors, which quote nothing: a line that does not read, a header of another call.
pub(super) fn read(text: &[u8], call_id: &CallId) -> io::Result<(Call, usize)> {
    let mut call = Call::default();
    let mut end = 0;
    for (number, line) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        if !line.ends_with(b"\n") {
            break;
        }
        end += line.len();
        if line == ERASED.as_bytes() {
            call = Call::Erased;
        } else if line.starts_with(HEADER) {
            let header = header(line).filter(|header| header.call_id() == call_id);
            call.keep_header(
                header.ok_or_else(|| bad_line(number, "the header of this call, of a version that is known"))?,
            );
        } else {
            let record = serde_json::from_slice::<Record>(line).map_err(|_| bad_line(number, "a record"))?;
            call.replay(record);
        }
    }
    Ok((call, end))
}

/// The header in the file of a call, if it was opened and not erased: its last one counts.
pub(super) fn find_header(text: &[u8]) -> io::Result<Option<CallHeader>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let found = (1..).zip(lines).filter(|(_, line)| line.starts_with(HEADER) && line.ends_with(b"\n")).last();
    found.map(|(number, line)| header(line).ok_or_else(|| bad_line(number, "a header"))).transpose()
}

fn header(line: &[u8]) -> Option<CallHeader> {
    let line: HeaderLine = serde_json::from_slice(line).ok().filter(|line: &HeaderLine| line.v == VERSION)?;
    line.call.try_into().ok()
}

fn bad_line(number: usize, what: &str) -> io::Error {
    let text = format!("line {number} does not read as {what}; look at the file, another program may have written it");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
