//! Taking dead letters out of a writer.

use verbale::log::{DeadLetter, LogError, LogWriter};

/// Reads and discards the dead letters of a writer.
pub async fn take_dead_letters(writer: &LogWriter) -> Result<Vec<DeadLetter>, LogError> {
    let letters = writer.dead_letters(None).await?;
    writer.discard_dead_letters(&letters);
    Ok(letters)
}
