//! The state of the explored world: the items of a call, the requests on their way, and the processes.

use super::candidate::Candidate;
use super::eraser::Eraser;
use super::owner::Owner;
use super::{Limits, Mutant};
use crate::dynamodb::rules::Slot;
use crate::log::{Nonce, Refused, Tenure, TenureChange, TenureStep};

pub const SLOTS: usize = 4;

/// A message and its revision.
pub type Revised = (u8, u32);

/// A message and its revision in each slot.
pub type Known = [Option<Revised>; SLOTS];

/// The messages of an item and their revisions: the message of its slot, and, in a span, the next one.
pub type Members = [Option<Revised>; 2];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    Header {
        step: Step,
        epoch: u32,
        seen: Option<Nonce>,
        nonce: Nonce,
    },
    Close {
        epoch: u32,
    },
    Put {
        epoch: u32,
        served: u32,
        slot: u8,
        id: u8,
        revision: u32,
    },
    /// Puts a span of two messages.
    PutSpan {
        epoch: u32,
        served: u32,
        slot: u8,
        members: Members,
    },
    /// Changes a message of the span in a slot.
    Update {
        epoch: u32,
        served: u32,
        slot: u8,
        member: u8,
        id: u8,
        revision: u32,
    },
    Stamp {
        epoch: u32,
        slot: u8,
        read: u32,
    },
    Fence {
        epoch: u32,
        served: u32,
        slot: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Commit,
    Serve,
    GiveUp,
    Reclaim { served: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Done,
    Changed,
    Superseded,
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Begin,
    /// A request lands, but its response is lost.
    Late(Request),
    Hold,
    Eraser(&'static str),
    Owner(&'static str, Option<Request>),
    Candidate(u8, &'static str, Option<Request>),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// `None` after an erasure.
    pub header: Option<Tenure>,
    pub has_ended: bool,
    pub slots: [Slot<Members>; SLOTS],
    /// The requests that may still land, sorted.
    pub flight: Vec<Request>,
    pub owner: Owner,
    pub candidates: Vec<Candidate>,
    pub eraser: Eraser,
    pub acknowledged: Known,
    /// The rest of the limits.
    pub left: Limits,
}

impl World {
    pub fn new(limits: Limits) -> Self {
        Self {
            header: Some(Tenure { nonce: Nonce(1), ..Tenure::default() }),
            has_ended: false,
            slots: [Slot::Free; SLOTS],
            flight: Vec::new(),
            owner: Owner::new(),
            candidates: vec![Candidate::new(); usize::from(limits.candidates)],
            eraser: Eraser::Idle,
            acknowledged: Known::default(),
            left: limits,
        }
    }

    /// Sends a request, which may land from now on.
    pub fn send(&mut self, request: Request) {
        if let Err(at) = self.flight.binary_search(&request) {
            self.flight.insert(at, request);
        }
    }

    /// Applies a request.
    pub fn land(&mut self, request: &Request) -> Answer {
        match *request {
            Request::Header { step, epoch, seen, nonce } => {
                let Some(tenure) = self.header else { return Answer::Gone };
                let step = match step {
                    Step::Commit => TenureStep::Commit,
                    Step::Serve => TenureStep::Serve,
                    Step::GiveUp => TenureStep::GiveUp,
                    Step::Reclaim { served } => TenureStep::Reclaim { served },
                };
                let seen = seen.filter(|_| self.left.mutant != Mutant::NoNonce);
                match tenure.after(&TenureChange { step, epoch, seen, nonce }) {
                    Ok(after) => {
                        self.has_ended &= after.served == tenure.served;
                        self.header = Some(after);
                        Answer::Done
                    }
                    Err(Refused::Changed) => Answer::Changed,
                    Err(Refused::Superseded) => Answer::Superseded,
                }
            }
            Request::Close { epoch } => match self.header {
                None => Answer::Gone,
                Some(tenure) if tenure.epoch > epoch => Answer::Superseded,
                Some(_) => {
                    self.has_ended = true;
                    Answer::Done
                }
            },
            Request::Put { epoch, served, slot, id, revision } => {
                let merges = self.left.mutant == Mutant::MergesFirst;
                let found = &mut self.slots[usize::from(slot)];
                if alone(found).may_put(epoch, served, &Some(id), revision) {
                    let rest = if let Slot::Record { id: [_, rest], .. } = *found { rest } else { None };
                    let members = [Some((id, revision)), rest.filter(|_| merges)];
                    *found = Slot::Record { epoch, id: members, revision };
                    return Answer::Done;
                }
                refused_writer(found, epoch, |members| members[0].is_some_and(|(same, _)| same == id))
            }
            Request::PutSpan { epoch, served, slot, members } => {
                let found = &mut self.slots[usize::from(slot)];
                if found.may_put_span(epoch, served) {
                    let revision = members.iter().flatten().map(|(_, revision)| revision).sum();
                    *found = Slot::Record { epoch, id: members, revision };
                    return Answer::Done;
                }
                let has_all = |there: &Members| {
                    let mut pairs = there.iter().flatten().zip(members.iter().flatten());
                    pairs.all(|((there, newest), (id, revision))| there == id && newest >= revision)
                };
                refused_writer(found, epoch, has_all)
            }
            Request::Update { epoch, served, slot, member, id, revision } => {
                let ignores_epoch = self.left.mutant == Mutant::UpdatesAnyEpoch;
                let found = &mut self.slots[usize::from(slot)];
                let may_update = found.may_update(epoch, served) || ignores_epoch;
                let member = usize::from(member);
                match found {
                    Slot::Record { epoch: owner, id: members, revision: changes }
                        if may_update
                            && members[member].is_some_and(|(same, older)| same == id && older < revision) =>
                    {
                        members[member] = Some((id, revision));
                        (*owner, *changes) = (epoch, *changes + 1);
                        Answer::Done
                    }
                    found => refused_writer(found, epoch, |members| {
                        members[member].is_some_and(|(same, newest)| same == id && newest >= revision)
                    }),
                }
            }
            Request::Stamp { epoch, slot, read } => {
                let found = &mut self.slots[usize::from(slot)];
                let may_stamp = found.may_stamp(epoch, read);
                match found {
                    Slot::Record { epoch: stamped, .. } if may_stamp => {
                        *stamped = epoch;
                        Answer::Done
                    }
                    found => refused_candidate(found, epoch),
                }
            }
            Request::Fence { epoch, served, slot } => {
                let found = &mut self.slots[usize::from(slot)];
                if found.may_fence(epoch, served) {
                    *found = Slot::Fence { epoch };
                    return Answer::Done;
                }
                refused_candidate(found, epoch)
            }
        }
    }

    /// The records that a read returns.
    pub fn shown(&self) -> Known {
        let Some(tenure) = self.header else { return Known::default() };
        let mut known = [None; SLOTS];
        for (slot, found) in self.slots.iter().enumerate().filter(|(_, found)| found.is_shown(tenure.served)) {
            let Slot::Record { epoch, id: members, .. } = found else { continue };
            for (known, member) in known[slot..].iter_mut().zip(members) {
                // For one message in two items, the newest revision counts; of two messages, the one with the highest
                // epoch.
                let Some((id, revision)) = *member else { continue };
                let is_newer = |(there, (found, older)): (u32, Revised)| {
                    if found == id { older < revision } else { there < *epoch }
                };
                if known.is_none_or(is_newer) {
                    *known = Some((*epoch, (id, revision)));
                }
            }
        }
        known.map(|known| known.map(|(_, member)| member))
    }

    pub fn acknowledge(&mut self, slot: u8, id: u8, revision: u32) {
        let known = &mut self.acknowledged[usize::from(slot)];
        // A different message stays, so that the check sees both.
        let newest = known.filter(|(other, _)| *other == id).map_or(revision, |(_, newest)| newest.max(revision));
        *known = Some((id, newest));
    }

    pub fn successors(&self, next: &mut Vec<(Action, Self)>) {
        for request in &self.flight {
            let mut world = self.clone();
            world.land(request);
            next.push((Action::Late(*request), world));
        }
        self.owner_actions(next);
        for number in 0..self.candidates.len() {
            self.candidate_actions(number, next);
        }
        if self.left.holds > 0
            && let Some(tenure) = self.header
        {
            let mut world = self.clone();
            world.left.holds -= 1;
            world.header = Some(Tenure { nonce: Nonce(900 + u128::from(self.left.holds)), ..tenure });
            next.push((Action::Hold, world));
        }
        self.eraser_actions(next);
    }

    /// Drops the requests that can never be applied again, because epochs only grow and nonces never return.
    pub fn forget_dead_requests(&mut self) {
        let (header, slots, mutant) = (self.header, self.slots, self.left.mutant);
        self.flight.retain(|request| match *request {
            Request::Header { epoch, seen, .. } => header.is_some_and(|header| {
                header.epoch == epoch && (seen == Some(header.nonce) || mutant == Mutant::NoNonce)
            }),
            Request::Close { epoch } => header.is_some_and(|header| header.epoch <= epoch),
            Request::Put { epoch, slot, id, revision, .. } => match slots[usize::from(slot)] {
                Slot::Free => true,
                Slot::Erased => false,
                Slot::Fence { epoch: found } => found <= epoch,
                Slot::Record { epoch: found, id: [first, _], .. } => {
                    found < epoch
                        || found == epoch && first.is_some_and(|(same, newest)| same == id && newest < revision)
                }
            },
            Request::PutSpan { epoch, served, slot, .. } => match slots[usize::from(slot)] {
                Slot::Free => true,
                Slot::Erased => false,
                Slot::Fence { epoch: found } => found <= epoch,
                Slot::Record { epoch: found, .. } => found < served,
            },
            Request::Update { epoch, slot, member, id, revision, .. } => match slots[usize::from(slot)] {
                Slot::Free => true,
                Slot::Erased => false,
                Slot::Fence { epoch: found } => found <= epoch,
                Slot::Record { epoch: found, id: members, .. } => {
                    let is_older =
                        members[usize::from(member)].is_some_and(|(same, newest)| same == id && newest < revision);
                    found < epoch || (found == epoch || mutant == Mutant::UpdatesAnyEpoch) && is_older
                }
            },
            Request::Stamp { epoch, slot, .. } => match slots[usize::from(slot)] {
                Slot::Free => true,
                Slot::Erased => false,
                Slot::Fence { epoch: found } => found <= epoch,
                Slot::Record { epoch: found, .. } => found < epoch,
            },
            Request::Fence { epoch, slot, .. } => match slots[usize::from(slot)] {
                Slot::Free => true,
                Slot::Erased => false,
                Slot::Fence { epoch: found } | Slot::Record { epoch: found, .. } => found < epoch,
            },
        });
    }
}

/// Returns an item as a put of a single message sees it.
pub fn alone(found: &Slot<Members>) -> Slot<Option<u8>> {
    match *found {
        Slot::Free => Slot::Free,
        Slot::Erased => Slot::Erased,
        Slot::Fence { epoch } => Slot::Fence { epoch },
        Slot::Record { epoch, id: [Some((id, revision)), None], .. } => Slot::Record { epoch, id: Some(id), revision },
        Slot::Record { epoch, revision, .. } => Slot::Record { epoch, id: None, revision },
    }
}

/// Returns the answer to a refused write of a record. `has` returns whether the item has this revision or a newer one.
fn refused_writer(found: &Slot<Members>, writer: u32, has: impl FnOnce(&Members) -> bool) -> Answer {
    match found {
        Slot::Erased => Answer::Gone,
        Slot::Fence { epoch } | Slot::Record { epoch, .. } if *epoch > writer => Answer::Superseded,
        Slot::Record { id: members, .. } if has(members) => Answer::Done,
        _ => Answer::Changed,
    }
}

fn refused_candidate(found: &Slot<Members>, candidate: u32) -> Answer {
    match found {
        Slot::Erased => Answer::Gone,
        Slot::Fence { epoch } | Slot::Record { epoch, .. } if *epoch > candidate => Answer::Superseded,
        _ => Answer::Changed,
    }
}
