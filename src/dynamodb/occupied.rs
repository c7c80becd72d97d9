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

    /// Returns the free sort keys where a late record of the items that are no marks could arrive: the next message, the
    /// holes before it, and the places of the next and of missing summaries.
    pub fn free_places(&self) -> Vec<String> {
        let (mut messages, mut summaries) = (BTreeSet::new(), BTreeMap::new());
        let unmarked = self.0.iter().filter(|(_, is_mark)| !**is_mark);
        for position in unmarked.filter_map(|(sort_key, _)| keys::position_of(sort_key)) {
            match position.summary_number() {
                None => drop(messages.insert(position.seq())),
                Some(number) => drop(summaries.insert(number.get(), position.seq())),
            }
        }
        let is_free = |position: &Position| !self.0.contains_key(&keys::sort_key_of(*position));
        let last = messages.iter().chain(summaries.values()).max().copied();
        let next = last.map_or(0, |seq| seq.saturating_add(1)).min(Position::MAX_SEQ);
        let places = std::iter::once(next).chain(0..next);
        let holes: Vec<Position> = places.map(Position::message).filter(is_free).take(MAX_HOLES).collect();

        // A summary may follow each message that is there or missing, between the summaries before and after it.
        let mut seqs = messages;
        seqs.extend(holes.iter().map(|hole| hole.seq()).filter(|seq| *seq < next));
        let last_number = summaries.keys().max().copied().unwrap_or_default();
        let (mut free, mut uncovered) = (Vec::new(), 0);
        for number in 1..=last_number.saturating_add(1).min(Position::MAX_SUMMARIES) {
            if let Some(after) = summaries.get(&number) {
                uncovered = after.saturating_add(1);
                continue;
            }
            let until = summaries.range(number..).next().map_or(next, |(_, after)| *after);
            let seqs = seqs.iter().copied().filter(|seq| (uncovered..until).contains(seq));
            free.extend(seqs.filter_map(|seq| Some(Position::summary(seq, NonZeroU32::new(number)?))).take(MAX_HOLES));
        }
        holes.into_iter().chain(free.into_iter().filter(is_free)).map(keys::sort_key_of).collect()
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
            ["MSG#00000004", "MSG#00000001", "MSG#00000003#SUM#0002"]
        );
        // The first summary is missing.
        assert_eq!(
            free(&["MSG#00000000", "MSG#00000001", "MSG#00000001#SUM#0002"]),
            ["MSG#00000002", "MSG#00000000#SUM#0001"]
        );
        assert_eq!(free(&["MSG#00500000"]).len(), 2 * MAX_HOLES);
    }
}
