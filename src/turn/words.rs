//! The words in the records of turns, such as `complete`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::message::Text;

/// Returns the text of a word. All records of the process share it.
pub(super) fn text_of(word: &'static str) -> Text {
    static WORDS: Mutex<BTreeMap<&str, Text>> = Mutex::new(BTreeMap::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    words.entry(word).or_insert_with(|| word.into()).clone()
}
