//! The lines of a call's file: records, its header as it was each time it changed, and that it was erased.

use std::io;

use serde::{Deserialize, Serialize};

use crate::log::call::Call;
use crate::log::{CallHeader, CallId, Ending, Tenant};
use crate::message::Record;

/// The one line of an erased call.
pub(super) const ERASED: &str = "{\"erased\":true}\n";

/// What the line of a header begins with, and no record's.
const HEADER: &[u8] = b"{\"call\":";

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    call: HeaderEntries,
    v: u32,
}

/// What a first writer opened has only the first three: so did every header once.
#[derive(Serialize, Deserialize)]
struct HeaderEntries {
    id: String,
    started: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    #[serde(default = "first_epoch", skip_serializing_if = "is_first_epoch")]
    epoch: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<EndingEntries>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    held: bool,
}

#[derive(Serialize, Deserialize)]
struct EndingEntries {
    at: i64,
    reason: String,
    messages: u32,
    summaries: u32,
}

fn first_epoch() -> u32 {
    1
}

fn is_first_epoch(epoch: &u32) -> bool {
    *epoch == first_epoch()
}

/// The line of a header. Errors: none is known, for all of it is text and numbers.
pub(super) fn of_header(header: &CallHeader) -> io::Result<Vec<u8>> {
    let ended = |ending: &Ending| EndingEntries {
        at: ending.at_ms,
        reason: ending.reason.as_ref().to_owned(),
        messages: ending.messages,
        summaries: ending.summaries,
    };
    let call = HeaderEntries {
        id: header.call_id().as_str().to_owned(),
        started: header.started_ms(),
        tenant: header.tenant().map(|tenant| tenant.as_str().to_owned()),
        expires: header.expires_at_s(),
        epoch: header.epoch(),
        ended: header.ending().map(ended),
        held: header.is_held(),
    };
    // The keys of a struct stand in their order: the line begins with `HEADER`.
    line(&HeaderLine { call, v: VERSION })
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
    let call = line.call;
    let mut header = CallHeader::new(CallId::new(call.id).ok()?, call.started).ok()?;
    if let Some(tenant) = call.tenant {
        header = header.with_tenant(Tenant::new(tenant).ok()?);
    }
    if let Some(at_s) = call.expires {
        header = header.with_expires_at(at_s);
    }
    let ending = match call.ended {
        None => None,
        Some(ended) => Some(Ending::new(ended.at, ended.reason, ended.messages, ended.summaries).ok()?),
    };
    Some(header.with_state(call.epoch, ending, call.held))
}

fn bad_line(number: usize, what: &str) -> io::Error {
    let text = format!("line {number} does not read as {what}; look at the file, another program may have written it");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
