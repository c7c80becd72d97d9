//! The positions that a late writer of a call could fill: the next ones, and those that the log lacks.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use super::{Item, item, keys, span};
use crate::message::Position;

/// Returns the positions of messages and summaries. A span takes the positions of all its messages.
pub(super) fn of_items(visible: &[Item]) -> BTreeSet<Position> {
    let mut positions = BTreeSet::new();
    for item in visible {
        match span::of_item(item) {
            Some(span) => positions.extend((span.first()..=span.last()).map(Position::message)),
            // The key of a damaged item is intact.
            None => positions.extend(item::sort_key(item).and_then(keys::position_of)),
        }
    }
    positions
}

/// Returns the number of the next message.
pub(super) fn next_seq(taken: &BTreeSet<Position>) -> u32 {
    taken.iter().map(|position| position.seq()).max().map_or(0, |last| last + 1)
}

/// Returns the free positions that a writer of this list could fill: the next message and each missing one before it;
/// the next summary after each message that no summary covers; and each missing summary, after every message that it
/// could cover. Returns at most `most` of one kind, starting with the last ones.
pub(super) fn open(taken: &BTreeSet<Position>, most: usize) -> Vec<Position> {
    let mut messages = BTreeSet::new();
    let mut summaries = Vec::new();
    for position in taken {
        match position.summary_number() {
            None => drop(messages.insert(position.seq())),
            Some(number) => summaries.push((number.get(), position.seq())),
        }
    }
    summaries.sort_unstable();
    let next_seq = next_seq(taken);
    let free = (0..=next_seq).rev().filter(|seq| !messages.contains(seq) && *seq <= Position::MAX_SEQ);
    let mut open: Vec<Position> = free.take(most).map(Position::message).collect();

    // Summaries are numbered in the order of the messages that they cover, so a missing summary lies between its
    // neighbours.
    let (mut number, mut from) = (1, 0);
    for (present, after) in summaries {
        add_summaries(&mut open, most, number..present, from..after);
        (number, from) = (present + 1, after + 1);
    }
    add_summaries(&mut open, most, number..number + 1, from..next_seq);
    open
}

fn add_summaries(open: &mut Vec<Position>, most: usize, numbers: std::ops::Range<u32>, after: std::ops::Range<u32>) {
    for number in numbers.filter(|number| *number <= Position::MAX_SUMMARIES).filter_map(NonZeroU32::new) {
        open.extend(after.clone().rev().take(most).map(|seq| Position::summary(seq, number)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seq: u32) -> Position {
        Position::message(seq)
    }

    fn summary(after: u32, number: u32) -> Position {
        Position::summary(after, NonZeroU32::new(number).unwrap())
    }

    fn open_of(taken: impl IntoIterator<Item = Position>) -> Vec<Position> {
        let mut open = open(&taken.into_iter().collect(), 10);
        open.sort_unstable();
        open
    }

    #[test]
    fn next_message_and_next_summaries_are_open() {
        assert_eq!(open_of([]), [message(0)]);
        assert_eq!(open_of([message(0), message(1)]), [summary(0, 1), summary(1, 1), message(2)]);
        let covered = [message(0), message(1), summary(1, 1), message(2)];
        assert_eq!(open_of(covered), [summary(2, 2), message(3)]);
    }

    #[test]
    fn missing_messages_and_summaries_are_open() {
        assert_eq!(
            open_of([message(1), message(3)]),
            [message(0), summary(0, 1), summary(1, 1), message(2), summary(2, 1), summary(3, 1), message(4)]
        );
        let second_only = [message(0), message(1), message(2), summary(2, 2)];
        assert_eq!(open_of(second_only), [summary(0, 1), summary(1, 1), message(3)]);
        // Only a summary is left of the call.
        assert_eq!(open_of([summary(1, 1)]), [message(0), message(1), message(2)]);
    }
}
