//! [`Budget`]: what an import may take in memory, counted before it is taken.
//!
//! The sizes are those of the data and of the standard library's collections; what is not counted is small and fits
//! in what the budget leaves of its margin.

use std::cell::Cell;
use std::mem::size_of;

use super::error::Problem;
use crate::message::{Content, Value};

/// Memory for each byte of the text.
const TIMES: usize = 4;
/// What a text of any size may take beyond that.
const MARGIN: usize = 64 * 1024;
/// Of the margin what nobody counts: paths, buffers of a few bytes, the manager itself.
const UNCOUNTED: usize = 8 * 1024;

/// What an import may still take in memory.
///
/// A text of conversation takes 1 to 3 times its size. `[0,0,…` would take 20 times.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<usize>,
}

impl Budget {
    /// For a text of `bytes` bytes.
    pub fn of(bytes: usize) -> Self {
        Self { left: Cell::new(bytes.saturating_mul(TIMES).saturating_add(MARGIN - UNCOUNTED)) }
    }

    /// Takes note that `bytes` bytes are about to be taken. Errors: there are not as many left.
    pub fn take(&self, bytes: usize) -> Result<(), Problem> {
        let left = self.left.get().checked_sub(bytes).ok_or(Problem::TooDense)?;
        self.left.set(left);
        Ok(())
    }

    /// Takes note that what was taken is free again.
    pub fn give_back(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_add(bytes));
    }
}

/// A shared text, with its two counters.
pub(super) fn text_bytes(length: usize) -> usize {
    2 * size_of::<usize>() + length.next_multiple_of(size_of::<usize>())
}

/// The slots of a list of values.
pub(super) fn list_bytes(items: usize) -> usize {
    items.saturating_mul(size_of::<Value>())
}

/// The slots of a map, without what its keys and values hold.
pub(super) fn map_bytes(entries: usize) -> usize {
    entries.saturating_mul(size_of::<(String, Value)>())
}

/// The contents of a message, while they are collected and once they are merged.
pub(super) fn contents_bytes(contents: usize) -> usize {
    const SHARED: usize = 5 * size_of::<usize>();
    match contents {
        0 | 1 => 0,
        more => SHARED.saturating_add(more.max(4).saturating_mul(3 * size_of::<Content>())),
    }
}

/// What a list of contents takes more when others are merged into it: it grows by doubling.
pub(super) fn merged_bytes(before: usize, contents: usize) -> usize {
    let grown = contents.saturating_mul(2 * size_of::<Content>());
    if before <= 1 { grown.saturating_add(contents_bytes(2)) } else { grown }
}

/// What the manager remembers of tool calls, in a table of which an eighth is always empty.
pub(super) fn calls_bytes(calls: usize) -> usize {
    const CALL: usize = 49;
    if calls == 0 { 0 } else { (calls.saturating_mul(8) / 7).next_power_of_two().max(16).saturating_mul(CALL) }
}

/// Another id for a tool call: the text, and its place in a table that grows by doubling.
pub(super) const ALIAS_BYTES: usize = 256;
