//! [`Occupied`]: the positions of a call that hold an item, and the free ones where a late record could arrive.

use std::collections::{BTreeMap, BTreeSet};

use super::{Item, item, keys, positions, span};
use crate::log::Span;
use crate::message::Position;

/// The maximum number of free positions of one kind that are marked. Only a damaged call has more; a sweep removes its
/// late records.
const MOST_MARKS: usize = 1_000;

/// The sort keys of a call, in order, and what each holds.
#[derive(Default)]
pub(super) struct Occupied(BTreeMap<String, Holds>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Mark,
    Span(Span),
    Other,
}

impl Occupied {
    pub fn add(&mut self, item: &Item) {
        if let Some(sort_key) = item::sort_key(item) {
            let span = span::of_item(item).map_or(Holds::Other, Holds::Span);
            self.0.insert(sort_key.to_owned(), if item::is_erased(item) { Holds::Mark } else { span });
        }
    }

    /// Returns true if there are only marks, and one at a place for a message.
    pub fn is_erased(&self) -> bool {
        self.0.values().all(|holds| *holds == Holds::Mark) && self.0.len() > 1
    }

    /// Returns the sort keys of the items other than marks.
    pub fn unmarked(&self) -> Vec<String> {
        self.0.iter().filter(|(_, holds)| **holds != Holds::Mark).map(|(sort_key, _)| sort_key.clone()).collect()
    }

    /// Returns the free sort keys where a late record could arrive, by the items other than marks: the next message,
    /// the missing messages before it, and the positions of the next and of missing summaries.
    pub fn free_places(&self) -> Vec<String> {
        let mut taken = BTreeSet::new();
        for (sort_key, holds) in &self.0 {
            match holds {
                Holds::Mark => {}
                Holds::Span(span) => taken.extend((span.first()..=span.last()).map(Position::message)),
                Holds::Other => taken.extend(keys::position_of(sort_key)),
            }
        }
        let open = positions::open(&taken, MOST_MARKS).into_iter().map(keys::sort_key_of);
        open.filter(|sort_key| !self.0.contains_key(sort_key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamodb::names;

    fn item_at(sort_key: &str) -> Item {
        let mut item = item::keys(String::new(), sort_key);
        if let Some((_, last)) = sort_key.split_once(" to ") {
            item.extend(item::keys(String::new(), &sort_key[..12]));
            item = item::of_entity(item, names::ENTITY_SPAN);
            item.insert(names::LAST.to_owned(), item::number(last));
        }
        item
    }

    fn free(sort_keys: &[&str]) -> Vec<String> {
        let mut occupied = Occupied::default();
        sort_keys.iter().chain(&["CALL"]).for_each(|sort_key| occupied.add(&item_at(sort_key)));
        occupied.free_places()
    }

    #[test]
    fn span_takes_the_places_of_its_messages() {
        let spans = ["MSG#00000000 to 2", "MSG#00000004 to 5", "MSG#00000005#SUM#0001"];
        assert_eq!(free(&spans), ["MSG#00000006", "MSG#00000003"]);
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
