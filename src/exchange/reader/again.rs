//! Reading the items of a list in another order than theirs.

use super::{ExchangeError, Reader, Step};

impl Reader<'_> {
    /// How far it has read, in bytes.
    pub fn offset(&self) -> usize {
        self.lexer.offset()
    }

    /// Reads item `index` of the list here, which begins at `offset`; stays where it is.
    pub fn item<T>(
        &mut self,
        index: usize,
        offset: usize,
        read: impl FnOnce(&mut Self) -> Result<T, ExchangeError>,
    ) -> Result<T, ExchangeError> {
        self.ahead(|reader| {
            reader.lexer.go_to(offset);
            reader.path.enter(Step::Index(index));
            let item = read(reader)?;
            reader.path.leave();
            Ok(item)
        })
    }
}
