//! The erasure of the explored call: a mark in place of the header, then marks until a pass finds nothing else.

use std::collections::BTreeSet;

use super::Mutant;
use super::world::{Action, SLOTS, World};
use crate::dynamodb::positions;
use crate::dynamodb::rules::Slot;
use crate::message::Position;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Eraser {
    Idle,
    /// The next pass begins with a read.
    Reads,
    /// Puts the marks of a pass.
    Marks(Vec<Mark>),
    Done,
}

/// A mark for a slot. A mark for a free slot is put only if the slot is still free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark {
    slot: usize,
    is_for_free: bool,
}

impl World {
    pub(super) fn eraser_actions(&self, next: &mut Vec<(Action, Self)>) {
        let mut act = |name, change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            next.push((Action::Eraser(name), world));
        };
        match &self.eraser {
            Eraser::Idle if self.left.erasures > 0 && self.header.is_some() => act("marks the header", &|world| {
                (world.left.erasures, world.header, world.eraser) = (0, None, Eraser::Reads);
            }),
            Eraser::Reads => act("reads", &|world| world.eraser = world.erasing_pass()),
            Eraser::Marks(marks) => match marks.split_first() {
                None => act("ends a pass", &|world| world.eraser = Eraser::Reads),
                Some((mark, rest)) => act("marks", &|world| {
                    let found = &mut world.slots[mark.slot];
                    if !mark.is_for_free || *found == Slot::Free {
                        *found = Slot::Erased;
                    }
                    world.eraser = Eraser::Marks(rest.to_vec());
                }),
            },
            Eraser::Idle | Eraser::Done => {}
        }
    }

    /// Derives the marks of a pass, as `erase.rs` does.
    fn erasing_pass(&self) -> Eraser {
        let mut taken = BTreeSet::new();
        let mut marks = Vec::new();
        for (slot, found) in self.slots.iter().enumerate() {
            let last = match found {
                Slot::Free | Slot::Erased => continue,
                Slot::Record { id: [_, Some(_)], .. } => slot + 1,
                Slot::Fence { .. } | Slot::Record { .. } => slot,
            };
            taken.extend((slot..=last).map(|slot| Position::message(slot as u32)));
            marks.push(Mark { slot, is_for_free: false });
        }
        if marks.is_empty() && self.slots.contains(&Slot::Erased) {
            return Eraser::Done;
        }
        let next = positions::next_seq(&taken);
        let open = positions::open(&taken, SLOTS + 1).into_iter().filter(|open| open.summary_number().is_none());
        let is_marked = |seq: &u32| match self.left.mutant {
            Mutant::ErasesNoHoles => *seq == next,
            Mutant::ErasesNoNext => *seq != next,
            _ => true,
        };
        let free = open.map(|open| open.seq()).filter(is_marked).map(|seq| seq as usize);
        let free = free.filter(|slot| self.slots.get(*slot) == Some(&Slot::Free));
        Eraser::Marks(free.map(|slot| Mark { slot, is_for_free: true }).chain(marks).collect())
    }

    /// Returns the slot of a record that exists although its call is erased. A record after the next one may be stored,
    /// and is left to a sweep.
    pub fn back_from_the_dead(&self) -> Option<usize> {
        let last_mark = self.slots.iter().rposition(|slot| *slot == Slot::Erased)?;
        let is_back = |slot: &usize| matches!(self.slots[*slot], Slot::Record { .. });
        (0..last_mark).find(is_back).filter(|_| self.eraser == Eraser::Done)
    }
}
