//! [`Occupied`]: the places of a call's table that hold an item, and the free ones where a late record could arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::{Item, item, keys};
use crate::message::Position;

/// The most holes that are marked. Only a damaged call has more, and its late records are left to a sweep.
const MAX_HOLES: usize = 1_000;

/// The sort keys of a call, in order, and whether each holds a mark.
#[derive(Default)]
pub(super) struct Occupied(BTreeMap<String, bool>);

impl Occupied {
    pub fn add(&mut self, item: &Item) {
        if let Some(sort_key) = item::sort_key(item) {
            self.0.insert(sort_key.to_owned(), item::is_erased(item));
        }
    }

    /// Returns true if there are only marks, and one at a place for a message.
    pub fn is_erased(&self) -> bool {
        self.0.values().all(|is_mark| *is_mark) && self.0.len() > 1
    }

    /// Returns the sort keys of the items that are no marks.
    pub fn unmarked(&self) -> Vec<String> {
        self.0.iter().filter(|(_, is_mark)| !**is_mark).map(|(sort_key, _)| sort_key.clone()).collect()
    }

    /// Returns the free sort keys up to the next message: holes, the next message, and the places of the next summary.
    pub fn free_places(&self) -> Vec<String> {
        let mut messages = BTreeSet::new();
        let mut summaries = BTreeMap::new();
        for position in self.0.keys().filter_map(|sort_key| keys::position_of(sort_key)) {
            match position.summary_number() {
                None => drop(messages.insert(position.seq())),
                Some(number) => drop(summaries.insert(number.get(), position.seq())),
            }
        }
        let last = messages.iter().chain(summaries.values()).max().copied();
        let next = last.map_or(0, |seq| seq.saturating_add(1)).min(Position::MAX_SEQ);
        let holes = (0..=next).filter(|seq| !messages.contains(seq)).take(MAX_HOLES).map(Position::message);

        // A summary of a missing number follows a message between those of its neighbours.
        let last_number = summaries.keys().max().copied().unwrap_or_default();
        let mut free_summaries = Vec::new();
        let mut uncovered = 0;
        for number in 1..=last_number.saturating_add(1).min(Position::MAX_SUMMARIES) {
            if let Some(after) = summaries.get(&number) {
                uncovered = after.saturating_add(1);
                continue;
            }
            let until = summaries.range(number..).next().map_or(next, |(_, after)| *after);
            let seqs = (uncovered..until).take(MAX_HOLES.saturating_sub(free_summaries.len()));
            free_summaries.extend(seqs.filter_map(|seq| Some(Position::summary(seq, NonZeroU32::new(number)?))));
        }
        let free = holes.chain(free_summaries).map(keys::sort_key_of);
        free.filter(|sort_key| !self.0.contains_key(sort_key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(sort_keys: &[&str]) -> Vec<String> {
        let entries = sort_keys.iter().chain(&["CALL"]).map(|sort_key| ((*sort_key).to_owned(), false));
        Occupied(entries.collect()).free_places()
    }

    #[test]
    fn holes_and_next_places_are_free() {
        assert_eq!(free(&[]), ["MSG#00000000"]);
        assert_eq!(free(&["MSG#00000000"]), ["MSG#00000001", "MSG#00000000#SUM#0001"]);
        assert_eq!(
            free(&["MSG#00000000", "MSG#00000002", "MSG#00000003", "MSG#00000002#SUM#0001"]),
            ["MSG#00000001", "MSG#00000004", "MSG#00000003#SUM#0002"]
        );
        // The first summary is missing.
        assert_eq!(
            free(&["MSG#00000000", "MSG#00000001", "MSG#00000001#SUM#0002"]),
            ["MSG#00000002", "MSG#00000000#SUM#0001"]
        );
        assert_eq!(free(&["MSG#99999999"]).len(), 2 * MAX_HOLES);
    }
}
