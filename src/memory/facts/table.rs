//! [`FactTable`]: the facts of a call, found in the order of its messages.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::folded::Folded;
use super::{Fact, FactFinder};
use crate::manager::{List, MessagesManager};
use crate::message::{Content, Contents, Message, MessageWrapper, PlainMessage, Position, Text, is_blank};

/// The number of messages that a finder gets with a message.
const EARLIER: usize = 3;
/// The minimum limit of the words of facts, in bytes.
const LEAST: usize = 2_000;

/// The facts of a call.
///
/// The facts of messages that left memory are folded, which is final. The facts of messages in memory are kept one by
/// one, so that a changed message can be searched again. A [fork](Self::fork) shares both until one of them changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactTable {
    left: Arc<Folded>,
    /// The words of the last messages that left memory.
    context: Vec<Message>,
    searched: List<Searched>,
    /// The `seq` from which messages have not been searched.
    next: u32,
    /// The `seq` of earlier messages whose metadata changed after they were searched.
    edited: BTreeSet<u32>,
    /// The maximum length of the folded words, in bytes.
    pub(super) most: usize,
}

/// The facts of a message in memory.
#[derive(Debug, Clone)]
struct Searched {
    seq: u32,
    facts: Vec<Fact>,
}

type Manager = MessagesManager<PlainMessage>;

impl FactTable {
    /// Sets the limit of the kept words: as many as a memory of `shown` bytes can show, and at least 2,000 bytes.
    pub fn limit(&mut self, shown: usize) {
        self.most = shown.max(LEAST);
    }

    /// Returns the `seq` of the first message to search again, given that the facts before `seq` are final.
    pub fn searches_from(&self, seq: u32) -> u32 {
        seq.min(self.next)
    }

    /// Notes that the messages from `seq` on were edited.
    pub fn search_again(&mut self, seq: u32) {
        self.next = self.next.min(seq);
    }

    /// Notes that the metadata of one message was edited, but not its words, which are all that the search of other
    /// messages reads.
    pub fn search_one_again(&mut self, seq: u32) {
        if seq < self.next {
            self.edited.insert(seq);
        }
    }

    /// Searches the edited messages again.
    pub fn search_edited(&mut self, manager: &Manager, finder: &dyn FactFinder) {
        for seq in std::mem::take(&mut self.edited) {
            let place = self.searched.partition_point(|searched| searched.seq < seq);
            let Some(known) = self.searched.get(place).filter(|searched| searched.seq == seq) else { continue };
            let Some(message) = message(manager, seq) else { continue };
            let facts = if message.is_said() { self.find(message, place, manager, finder) } else { Vec::new() };
            if facts != known.facts
                && let Some(searched) = self.searched.get_mut(place)
            {
                searched.facts = facts;
            }
        }
    }

    /// Searches the messages from `from` up to `until`, and forgets the facts of later ones. Facts of messages that left
    /// memory stay.
    pub fn update(&mut self, manager: &Manager, from: u32, until: u32, finder: &dyn FactFinder) {
        let from = self.searches_from(from);
        self.searched.truncate(self.searched.partition_point(|searched| searched.seq < from));
        for message in manager.since(from).map(PlainMessage::message) {
            let seq = message.position().seq();
            if (from..until).contains(&seq) && message.is_said() {
                let facts = self.find(message, self.searched.end(), manager, finder);
                self.searched.push(Searched { seq, facts });
            }
        }
        self.next = until.max(from);
    }

    /// Folds the facts of messages before `seq`, which are about to leave memory.
    pub fn release(&mut self, manager: &Manager, seq: u32) {
        let left = self.searched.partition_point(|searched| searched.seq < seq);
        if left == self.searched.first() {
            return;
        }
        self.context = self.earlier(left, manager);
        self.context.shrink_to_fit();
        let folded = Arc::make_mut(&mut self.left);
        for searched in self.searched.range(self.searched.first()..left) {
            folded.extend(&searched.facts, self.most);
        }
        self.searched.forget(left);
    }

    /// Returns the facts of the messages before `seq`, for a fork. Copies none.
    pub fn fork(&mut self, seq: u32) -> Self {
        Self {
            left: self.left.clone(),
            context: self.context.clone(),
            searched: self.searched.share(self.searched.partition_point(|searched| searched.seq < seq)),
            next: self.next.min(seq),
            edited: self.edited.range(..seq).copied().collect(),
            most: self.most,
        }
    }

    /// Returns the facts of the messages before `seq`.
    pub fn before(&self, seq: u32) -> Cow<'_, Folded> {
        let in_memory = self.searched.iter().take_while(|searched| searched.seq < seq);
        let facts: Vec<&Fact> = in_memory.flat_map(|searched| &searched.facts).collect();
        if facts.is_empty() {
            return Cow::Borrowed(&self.left);
        }
        let mut folded = Folded::clone(&self.left);
        folded.extend(facts, self.most);
        Cow::Owned(folded)
    }

    /// Returns the facts of a message that is at this place among the searched ones.
    fn find(&self, message: &Message, place: usize, manager: &Manager, finder: &dyn FactFinder) -> Vec<Fact> {
        let earlier = self.earlier(place, manager);
        let mut facts = finder.find(message, &earlier.iter().collect::<Vec<_>>());
        facts.shrink_to_fit();
        facts
    }

    /// Returns the words of the last messages before a place, oldest first.
    fn earlier(&self, place: usize, manager: &Manager) -> Vec<Message> {
        let searched = self.searched.range(0..place).rev();
        let in_memory = searched.filter_map(|searched| words(message(manager, searched.seq)?));
        let mut earlier: Vec<Message> = in_memory.chain(self.context.iter().rev().cloned()).take(EARLIER).collect();
        earlier.reverse();
        earlier
    }
}

fn message(manager: &Manager, seq: u32) -> Option<&Message> {
    manager.at(Position::message(seq)).map(PlainMessage::message)
}

/// Returns a message with its words alone, unless it has none.
fn words(message: &Message) -> Option<Message> {
    let heard = message.heard_contents();
    let texts: Vec<Text> = heard.texts().filter(|text| !is_blank(text)).cloned().collect();
    if texts.is_empty() {
        return None;
    }
    let contents = Contents::from(texts.into_iter().map(Content::Text).collect::<Vec<_>>());
    Some(Message::new(message.id(), message.position(), message.role(), contents, 0))
}
