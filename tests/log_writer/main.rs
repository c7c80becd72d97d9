//! The background writer, case by case, over a log that stores single records and over one that stores spans.
//! `tests/simulation/` covers random histories and faults.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::duplicate_mod, reason = "the cases run over each kind of log")]

mod cases;
mod edges;
mod spans;

use verbale::log::{DeadLetter, LogError, LogWriter};

/// Reads and discards the dead letters of a writer.
async fn take_dead_letters(writer: &LogWriter) -> Result<Vec<DeadLetter>, LogError> {
    let letters = writer.dead_letters(None).await?;
    writer.discard_dead_letters(&letters);
    Ok(letters)
}
