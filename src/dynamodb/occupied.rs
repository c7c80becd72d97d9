//! [`Occupied`]: the places of a call's table that hold an item, and the free ones where a late record could arrive.

use std::collections::BTreeMap;

use super::{Item, item, keys, positions};

/// The most free places of one kind that are marked. Only a damaged call has more, and its late records are left to a
/// sweep.
const MOST_MARKS: usize = 1_000;

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
        let unmarked = self.0.iter().filter(|(_, is_mark)| !**is_mark);
        let taken = unmarked.filter_map(|(sort_key, _)| keys::position_of(sort_key)).collect();
        let open = positions::open(&taken, MOST_MARKS).into_iter().map(keys::sort_key_of);
        open.filter(|sort_key| !self.0.contains_key(sort_key)).collect()
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
        assert_eq!(free(&["MSG#00500000"]).len(), 2 * MOST_MARKS);
    }
}
