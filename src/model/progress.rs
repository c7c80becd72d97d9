//! Progress of an answer without an event, such as the arguments of a tool call while the model writes them.
//!
//! An adapter notes progress while its stream is polled, and the poller reads it on the same thread.

use std::cell::Cell;

thread_local! {
    static HAS_PROGRESSED: Cell<bool> = const { Cell::new(false) };
}

/// Notes progress of the answer that is being polled.
pub(crate) fn note_progress() {
    HAS_PROGRESSED.set(true);
}

/// Returns whether progress was noted on this thread since the last call.
pub(crate) fn take_progress() -> bool {
    HAS_PROGRESSED.replace(false)
}
