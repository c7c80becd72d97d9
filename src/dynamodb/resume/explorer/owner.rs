//! The writer of the explored call, with a spool.

use std::sync::LazyLock;

use super::Mutant;
use super::world::{Action, Answer, Request, Step, World};
use crate::log::Standing;
use crate::log::{CallId, Nonce, Tenure, WriterLease};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    Writes,
    /// A request met a higher epoch. The owner holds its records.
    Contested,
    /// Another process writes the call. The records are dead letters.
    Lost,
}

/// A message, in the slot of its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Message {
    pub revision: u32,
    pub stored: u32,
    pub is_dead_letter: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    pub phase: Phase,
    pub epoch: u32,
    pub served: u32,
    /// Whether the log may lack an earlier record, so that the header is read after each put.
    pub has_gap: bool,
    pub messages: Vec<Message>,
    /// The request whose response the owner waits for.
    pub waits: Option<Request>,
    /// A put whose records count as stored once the header has been read.
    pub unchecked: Option<Request>,
    /// Whether a put of the span found the span in the log, so that its messages are changed one by one.
    pub has_met_span: bool,
}

/// The id of the message that the owner has in a slot.
fn id(slot: u8) -> u8 {
    10 + slot
}

static CALL: LazyLock<CallId> = LazyLock::new(|| CallId::new("CA1").unwrap());

impl Owner {
    pub fn new() -> Self {
        Self {
            phase: Phase::Writes,
            epoch: 1,
            served: 1,
            has_gap: false,
            messages: Vec::new(),
            waits: None,
            unchecked: None,
            has_met_span: false,
        }
    }

    pub fn standing(&self, tenure: Tenure, mutant: Mutant) -> Standing {
        let served = if mutant == Mutant::ReclaimFromServer { tenure.served } else { self.served };
        tenure.standing(&WriterLease::restored(CALL.clone(), self.epoch, served, None))
    }
}

impl World {
    pub(super) fn owner_actions(&self, next: &mut Vec<(Action, Self)>) {
        let mut act = |name, request, change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            next.push((Action::Owner(name, request), world));
        };
        let owner = &self.owner;
        if owner.phase == Phase::Lost {
            return;
        }
        if self.left.restarts > 0 && !owner.messages.is_empty() {
            act("restarts", None, &|world| {
                world.left.restarts -= 1;
                let messages = std::mem::take(&mut world.owner.messages);
                // The spool has the first lease, and knows that the log may lack records.
                world.owner = Owner { messages, has_gap: true, ..Owner::new() };
            });
        }
        if let Some(request) = owner.waits {
            act("hears", Some(request), &|world| world.owner_hears(request));
            act("waits in vain", Some(request), &|world| world.owner.waits = None);
        } else if owner.phase == Phase::Contested {
            act("reads the header", None, &Self::contest);
        } else if let Some(put) = owner.unchecked {
            act("checks the header", None, &|world| {
                world.owner.unchecked = None;
                match world.header {
                    None => world.owner.phase = Phase::Lost,
                    Some(tenure) if tenure.epoch > world.owner.epoch => world.owner.phase = Phase::Contested,
                    Some(_) => world.put_is_stored(put),
                }
            });
        } else {
            self.write_actions(&mut act);
        }
    }

    fn write_actions(&self, act: &mut impl FnMut(&'static str, Option<Request>, &dyn Fn(&mut Self))) {
        let owner = &self.owner;
        let is_new = |message: &Message| message.stored == 0 && !message.is_dead_letter;
        let first_new = owner.messages.iter().position(is_new);
        for (slot, message) in owner.messages.iter().enumerate() {
            let is_waiting = message.stored < message.revision && !message.is_dead_letter;
            if is_waiting
                && (message.stored > 0 || first_new == Some(slot))
                && let Some(put) = self.put_of(slot as u8)
            {
                act("puts", Some(put), &|world| {
                    world.send(put);
                    world.owner.waits = Some(put);
                });
            }
        }
        match first_new {
            _ if owner.messages.len() < usize::from(self.left.messages)
                && first_new
                    .is_none_or(|first| self.left.span == Some(first as u8) && owner.messages.len() == first + 1) =>
            {
                act("says", None, &|world| {
                    world.owner.messages.push(Message { revision: 1, ..Message::default() });
                })
            }
            Some(slot) if self.left.dead_letters > 0 && !self.is_in_span(slot as u8) => {
                act("refuses", None, &|world| {
                    world.left.dead_letters -= 1;
                    world.owner.messages[slot].is_dead_letter = true;
                    world.owner.has_gap = true;
                })
            }
            _ => {}
        }
        if let Some(dead) = owner.messages.iter().position(|message| message.is_dead_letter)
            && owner.messages.len() > dead + 1
        {
            act("retries a dead letter", None, &|world| world.owner.messages[dead].is_dead_letter = false);
        }
        if self.left.updates > 0 && owner.messages.first().is_some_and(|first| first.revision == 1) {
            act("updates", None, &|world| {
                world.left.updates -= 1;
                world.owner.messages[0].revision += 1;
            });
        }
        if self.left.ends > 0 && !owner.messages.is_empty() {
            let close = Request::Close { epoch: owner.epoch };
            act("closes", Some(close), &|world| {
                world.left.ends -= 1;
                world.send(close);
                world.owner.waits = Some(close);
            });
        }
    }

    fn owner_hears(&mut self, request: Request) {
        self.owner.waits = None;
        let answer = self.land(&request);
        match (answer, request) {
            (Answer::Gone, _) => self.owner.phase = Phase::Lost,
            (Answer::Superseded, _) => self.owner.phase = Phase::Contested,
            (Answer::Done, Request::Put { .. } | Request::PutSpan { .. } | Request::Update { .. }) => {
                if self.owner.has_gap && self.left.mutant != Mutant::NoGapCheck {
                    self.owner.unchecked = Some(request);
                } else {
                    self.put_is_stored(request);
                }
            }
            (Answer::Changed, Request::PutSpan { .. }) => self.owner.has_met_span = true,
            (Answer::Done, Request::Header { epoch, .. }) => {
                (self.owner.epoch, self.owner.phase) = (epoch + 1, Phase::Writes);
            }
            _ => {}
        }
    }

    pub fn is_in_span(&self, slot: u8) -> bool {
        self.left.span.is_some_and(|first| slot == first || slot == first + 1)
    }

    /// Returns the slot of the owner's item that holds a message.
    pub fn key_of(&self, slot: u8) -> u8 {
        self.left.span.filter(|_| self.is_in_span(slot)).unwrap_or(slot)
    }

    /// Returns the request that stores a message; `None` if its span is not complete.
    fn put_of(&self, slot: u8) -> Option<Request> {
        let Owner { epoch, served, ref messages, has_met_span, .. } = self.owner;
        let message = messages.get(usize::from(slot))?;
        let (key, id, revision) = (self.key_of(slot), id(slot), message.revision);
        if !self.is_in_span(slot) {
            return Some(Request::Put { epoch, served, slot, id, revision });
        }
        if message.stored > 0 || has_met_span {
            return Some(Request::Update { epoch, served, slot: key, member: slot - key, id, revision });
        }
        let next = messages.get(usize::from(key) + 1)?;
        let members = [Some((id, revision)), Some((id + 1, next.revision))];
        Some(Request::PutSpan { epoch, served, slot: key, members })
    }

    fn put_is_stored(&mut self, put: Request) {
        match put {
            Request::Put { slot, revision, .. } => self.stored(slot, revision),
            Request::Update { slot, member, revision, .. } => self.stored(slot + member, revision),
            Request::PutSpan { slot, members, .. } => {
                for (member, (_, revision)) in (0..).zip(members.into_iter().flatten()) {
                    self.stored(slot + member, revision);
                }
            }
            _ => {}
        }
    }

    fn stored(&mut self, slot: u8, revision: u32) {
        let message = &mut self.owner.messages[usize::from(slot)];
        message.stored = message.stored.max(revision);
        self.acknowledge(slot, id(slot), revision);
    }

    /// Finds out which process writes the call. The explorer has no time, so a candidate may count as silent at any
    /// point.
    fn contest(&mut self) {
        let Some(tenure) = self.header else {
            self.owner.phase = Phase::Lost;
            return;
        };
        match self.owner.standing(tenure, self.left.mutant) {
            Standing::Lost => self.owner.phase = Phase::Lost,
            Standing::Writer => self.owner.phase = Phase::Writes,
            Standing::Contended | Standing::Free if self.left.reclaims == 0 => {}
            Standing::Contended | Standing::Free => {
                self.left.reclaims -= 1;
                let served =
                    if self.left.mutant == Mutant::ReclaimFromServer { tenure.served } else { self.owner.served };
                let nonce = Nonce(400 + u128::from(self.left.reclaims));
                let (epoch, seen) = (tenure.epoch, Some(tenure.nonce));
                let reclaim = Request::Header { step: Step::Reclaim { served }, epoch, seen, nonce };
                self.send(reclaim);
                self.owner.waits = Some(reclaim);
            }
        }
    }
}
