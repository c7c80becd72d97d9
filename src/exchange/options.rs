//! [`ImportOptions`]: the clock, the ids and the size limit of an import.

use std::sync::Arc;

use super::error::{ExchangeError, Problem};
use super::node::{Node, position};
use crate::clock::{Clock, IdSource, Sources};

/// The clock, the ids and the size limit of an import.
///
/// The default is the system's clock, random ids, and a limit of 64 MiB.
///
/// An import takes time linear in the size of the text. It needs a few times the memory of the text, and up to 20 times
/// for lists of small numbers in the arguments of a tool. The limit bounds time and memory.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    max_bytes: usize,
}

impl ImportOptions {
    /// Sets the clock and the ids for messages that have no time or id of their own.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { clock, ids, ..self }
    }

    /// Sets the maximum size of a text, in bytes. A larger text is refused.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Returns the bytes as text without a byte order mark.
    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, ExchangeError> {
        let max = self.max_bytes;
        if bytes.len() > max {
            let reason = format!(
                "the text has {} bytes, more than the limit of {max}; split it or raise `ImportOptions::with_max_bytes`",
                bytes.len()
            );
            return Err(ExchangeError::new("$", (1, 1), Problem::malformed(reason)));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
            ExchangeError::new("$", position(&valid, valid.len()), Problem::malformed("the text is not UTF-8"))
        })?;
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// Reads the bytes as one JSON value.
    pub(super) fn read<T>(
        &self,
        bytes: &[u8],
        read: impl FnOnce(Node<'_, '_>) -> Result<T, ExchangeError>,
    ) -> Result<T, ExchangeError> {
        let text = self.text(bytes)?;
        read(Node::parse(text, text)?)
    }
}

impl Default for ImportOptions {
    fn default() -> Self {
        let system = Sources::system();
        Self { clock: system.clock.clone(), ids: system.ids.clone(), max_bytes: 64 * 1024 * 1024 }
    }
}
