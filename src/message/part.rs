//! [`Part`]: a piece of a message that arrived at one time.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::message::times::Times;
use crate::message::{Confidence, Content, Empty, Message, MessageId, Number, Rarely, Timing, Value};

/// A piece of a message that arrived at one time.
///
/// Each merged part keeps its id, times and confidence. A message that was never merged has one part.
///
/// ```
/// # use verbale::clock::{ManualClock, SystemIds};
/// # use verbale::{MessagesManager, PlainMessage};
/// # fn main() -> Result<(), verbale::ManagerError> {
/// # let clock = ManualClock::new(1_744_815_823_058);
/// # let mut manager = MessagesManager::<PlainMessage>::new().with_clock(std::sync::Arc::new(clock.clone()), std::sync::Arc::new(SystemIds));
/// manager.add_user("Hi, there")?;
/// clock.advance(99_000);
/// let message = manager.add_user("are you there?")?.clone(); // merged
/// let times: Vec<i64> = message.parts().map(|part| part.created_ms()).collect();
/// assert_eq!(times, [1_744_815_823_058, 1_744_815_922_058]);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Part<'a> {
    message: &'a Message,
    index: usize,
}

/// The stored fields of a part after the first, whose id and creation are those of the message.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PartData {
    pub id: MessageId,
    pub created_ms: i64,
    /// The index of the first of its contents.
    pub start: u32,
    pub measured: Rarely<Measured>,
}

/// The data that a service can measure for a part.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// If the message has one part, its metadata has them instead.
    pub times: Times,
    pub confidence: Option<Confidence>,
}

impl Empty for Measured {
    const EMPTY: &'static Self = &Self { times: Times::NONE, confidence: None };
}

impl Rarely<Measured> {
    /// Sets the times after the creation.
    pub fn set_times(&mut self, times: Times) {
        if self.times != times {
            self.times = times;
        }
    }

    /// Keeps the times as they are when the creation is moved.
    pub fn move_times(&mut self, by_ms: i64) {
        self.set_times(self.times.moved(by_ms));
    }
}

impl PartData {
    pub fn new(id: MessageId, created_ms: i64, start: u32) -> Self {
        Self { id, created_ms, start, measured: Rarely::default() }
    }

    pub fn set_timing(&mut self, timing: Timing, at_ms: i64) {
        match timing {
            Timing::Creation => {
                self.measured.move_times(at_ms.wrapping_sub(self.created_ms));
                self.created_ms = at_ms;
            }
            _ => drop(self.measured.times.set(timing, at_ms.wrapping_sub(self.created_ms))),
        }
    }
}

impl Message {
    /// Returns the parts of the message in the order of their arrival. There is at least one.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Part<'_>> + DoubleEndedIterator + Clone {
        (0..self.count_parts()).map(|index| Part { message: self, index })
    }

    /// Returns the part at `index`.
    #[cfg(feature = "query")]
    pub(crate) fn part(&self, index: usize) -> Option<Part<'_>> {
        (index < self.count_parts()).then_some(Part { message: self, index })
    }

    /// Returns each part with its own contents among `heard`, the [`heard_contents`](Self::heard_contents).
    pub(crate) fn heard_parts<'h>(&self, heard: &'h [Content]) -> impl Iterator<Item = (Part<'_>, &'h [Content])> {
        // Only the last texts can be absent from the heard contents.
        let mut texts = heard.iter().filter(|content| content.as_text().is_some()).count();
        let mut left = heard;
        self.parts().map(move |part| {
            let own = part.contents().iter().filter(|content| {
                let is_text = content.as_text().is_some();
                let is_heard = !is_text || texts > 0;
                texts = texts.saturating_sub(usize::from(is_text));
                is_heard
            });
            let (own, rest) = left.split_at_checked(own.count()).unwrap_or((left, &[]));
            left = rest;
            (part, own)
        })
    }

    fn count_parts(&self) -> usize {
        1 + self.metadata().later_parts().len()
    }
}

impl<'a> Part<'a> {
    /// Returns the id. The first part has the id of the message.
    pub fn id(self) -> MessageId {
        self.later().map_or(self.message.id(), |part| part.id)
    }

    /// Returns the time when the part was added, in milliseconds since the Unix epoch.
    pub fn created_ms(self) -> i64 {
        self.later().map_or(self.message.metadata().created_ms(), |part| part.created_ms)
    }

    /// Returns a time of the part in milliseconds since the Unix epoch, if known.
    pub fn timing(self, timing: Timing) -> Option<i64> {
        self.timings().find(|(known, _)| *known == timing).map(|(_, at_ms)| at_ms)
    }

    /// All known times, [`Timing::Creation`] first.
    pub(crate) fn timings(self) -> impl Iterator<Item = (Timing, i64)> + 'a {
        let metadata = self.message.metadata();
        let others = if metadata.later_parts().is_empty() { metadata.times() } else { self.own_times() };
        let created_ms = self.created_ms();
        let others = others.into_iter().flat_map(move |times| times.since(created_ms));
        std::iter::once((Timing::Creation, created_ms)).chain(others)
    }

    /// Returns the contents of the part.
    pub fn contents(self) -> &'a [Content] {
        self.message.contents().get(self.range()).unwrap_or_default()
    }

    /// The range of its contents among those of the message.
    pub(crate) fn range(self) -> Range<usize> {
        let start = self.later().map_or(0, |part| part.start as usize);
        let next = self.message.metadata().later_parts().get(self.index);
        start..next.map_or(self.message.contents().len(), |next| next.start as usize)
    }

    /// Returns the confidence of the speech recognition, from 0 to 1, if known.
    pub fn confidence(self) -> Option<&'a Number> {
        Some(self.measured()?.confidence.as_ref()?.number())
    }

    /// The times that are stored with the part, after its creation.
    pub(super) fn own_times(self) -> Option<&'a Times> {
        Some(&self.measured()?.times)
    }

    pub(super) fn unknown(self) -> Option<&'a BTreeMap<String, Value>> {
        self.message.metadata().unknown()?.parts.get(self.index)
    }

    fn measured(self) -> Option<&'a Measured> {
        match self.later() {
            Some(part) => Some(&part.measured),
            None => self.message.metadata().first_measured(),
        }
    }

    /// `None` for the first part.
    fn later(self) -> Option<&'a PartData> {
        self.message.metadata().later_parts().get(self.index.checked_sub(1)?)
    }
}

/// Shows kinds and lengths, not the words.
impl fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("id", &self.id())
            .field("timings", &self.timings().collect::<Vec<_>>())
            .field("confidence", &self.confidence())
            .field("contents", &self.contents())
            .finish()
    }
}
