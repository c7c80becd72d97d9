//! The lines of a call's file: records, its header, and that it was erased.

use std::io;

use serde::{Deserialize, Serialize};

use crate::log::call::Call;
use crate::log::{CallHeader, CallId, Tenant};
use crate::message::Record;

/// The one line of an erased call.
pub(super) const ERASED: &str = "{\"erased\":true}\n";

/// What the line of a header begins with, and no record's.
const HEADER: &[u8] = b"{\"call\":";

const VERSION: u32 = 1;

/// Lines to be added.
#[derive(Default)]
pub(super) struct Lines {
    text: Vec<u8>,
    error: Option<serde_json::Error>,
}

impl Lines {
    pub fn push(&mut self, record: &Record) {
        if let Err(error) = serde_json::to_writer(&mut self.text, record) {
            self.error = Some(error);
        }
        self.text.push(b'\n');
    }

    /// All of them. Errors: a record that JSON cannot say; none is known.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        self.error.map_or(Ok(self.text), |error| Err(error.into()))
    }
}

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    call: HeaderEntries,
    v: u32,
}

#[derive(Serialize, Deserialize)]
struct HeaderEntries {
    id: String,
    started: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

/// The line of a header. Errors: none is known, for all of it is text and numbers.
pub(super) fn of_header(header: &CallHeader) -> io::Result<Vec<u8>> {
    let call = HeaderEntries {
        id: header.call_id().as_str().to_owned(),
        started: header.started_ms(),
        tenant: header.tenant().map(|tenant| tenant.as_str().to_owned()),
    };
    // The keys of a struct stand in their order: the line begins with `HEADER`.
    let mut line = serde_json::to_vec(&HeaderLine { call, v: VERSION })?;
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

/// The header in the file of a call, if it was opened and not erased.
pub(super) fn find_header(text: &[u8]) -> io::Result<Option<CallHeader>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let found = (1..).zip(lines).find(|(_, line)| line.starts_with(HEADER) && line.ends_with(b"\n"));
    found.map(|(number, line)| header(line).ok_or_else(|| bad_line(number, "a header"))).transpose()
}

fn header(line: &[u8]) -> Option<CallHeader> {
    let line: HeaderLine = serde_json::from_slice(line).ok().filter(|line: &HeaderLine| line.v == VERSION)?;
    let header = CallHeader::new(CallId::new(line.call.id).ok()?, line.call.started).ok()?;
    match line.call.tenant {
        Some(tenant) => Some(header.with_tenant(Tenant::new(tenant).ok()?)),
        None => Some(header),
    }
}

fn bad_line(number: usize, what: &str) -> io::Error {
    let text = format!("line {number} does not read as {what}; look at the file, another program may have written it");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
