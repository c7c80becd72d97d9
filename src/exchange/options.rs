//! [`ImportOptions`]: time, ids and limits of an import.

use std::sync::Arc;

use super::error::{ExchangeError, Place, Problem};
use super::node::Node;
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};

/// Time, ids and limits of an import.
///
/// An import takes time linear in the size of the text. Its memory is a few times that of the text, and up to 20 times
/// for lists of small numbers in the arguments of a tool: so the size is limited.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
    max_bytes: usize,
}

impl ImportOptions {
    /// The default limit for the size of a text: 64 MiB.
    pub const MAX_BYTES: usize = 64 * 1024 * 1024;

    /// The same with a clock for messages that bring no time along.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// The same with ids for messages that bring none along.
    #[must_use]
    pub fn with_ids(self, ids: Arc<dyn IdSource>) -> Self {
        Self { ids, ..self }
    }

    /// The same with another limit for the size of a text, in bytes.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The bytes as text, without a byte order mark.
    pub(super) fn text<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, ExchangeError> {
        let max = self.max_bytes;
        let at = |line, column, problem| ExchangeError::new(Place { path: "$".to_owned(), line, column }, problem);
        if bytes.len() > max {
            return Err(at(1, 1, Problem::TooLarge { bytes: bytes.len(), max }));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let good = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
            let last = good.rsplit('\n').next().unwrap_or_default();
            at(good.split('\n').count(), last.chars().count() + 1, Problem::NotUtf8)
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

/// The time and the randomness of the machine, and [`MAX_BYTES`](Self::MAX_BYTES).
impl Default for ImportOptions {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds), max_bytes: Self::MAX_BYTES }
    }
}
