//! A process that takes the explored call over.

use std::collections::BTreeSet;

use super::Mutant;
use super::world::{Action, Answer, Known, Request, SLOTS, Step, World};
use crate::dynamodb::positions;
use crate::dynamodb::rules::Slot;
use crate::log::Nonce;
use crate::message::Position;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stage {
    Idle,
    /// The commit is sent.
    Commits(Request),
    /// The response to the commit was lost.
    Unsure,
    /// The next pass begins with a read.
    Reads,
    /// Sends the steps of a pass, which read these items.
    Fences {
        read: Known,
        steps: Vec<Request>,
        is_changed: bool,
    },
    /// Nothing changed during a pass that read these items.
    Fenced {
        read: Known,
    },
    Serves {
        knows: Known,
        written: u8,
    },
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    pub stage: Stage,
    pub epoch: u32,
}

impl Candidate {
    pub fn new() -> Self {
        Self { stage: Stage::Idle, epoch: 0 }
    }
}

fn nonce(kind: u128, number: usize) -> Nonce {
    Nonce(kind + number as u128)
}

const COMMIT: u128 = 100;
const SERVE: u128 = 200;
const GIVE_UP: u128 = 300;

impl World {
    pub(super) fn candidate_actions(&self, number: usize, next: &mut Vec<(Action, Self)>) {
        let Candidate { stage, epoch } = &self.candidates[number];
        let epoch = *epoch;
        let mut act = |name, request, change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            next.push((Action::Candidate(number as u8, name, request), world));
        };
        let set = |world: &mut Self, stage| world.candidates[number].stage = stage;
        let is_at_work = matches!(stage, Stage::Unsure | Stage::Reads | Stage::Fences { .. } | Stage::Fenced { .. });
        if is_at_work || matches!(stage, Stage::Commits(_)) {
            act("dies", None, &|world| set(world, Stage::Dead));
        }
        if is_at_work
            && *stage != Stage::Unsure
            && let Some(tenure) = self.header.filter(|tenure| tenure.epoch == epoch)
        {
            let seen = Some(tenure.nonce);
            let give_up = Request::Header { step: Step::GiveUp, epoch, seen, nonce: nonce(GIVE_UP, number) };
            act("gives up", Some(give_up), &|world| {
                world.send(give_up);
                set(world, Stage::Dead);
            });
        }
        match stage {
            Stage::Idle => {
                let Some(tenure) = self.header.filter(|_| !self.owner.messages.is_empty()) else { return };
                let (seen, nonce) = (Some(tenure.nonce), nonce(COMMIT, number));
                let commit = Request::Header { step: Step::Commit, epoch: tenure.epoch, seen, nonce };
                act("commits", Some(commit), &|world| {
                    world.send(commit);
                    world.candidates[number] = Candidate { stage: Stage::Commits(commit), epoch: tenure.epoch + 1 };
                });
            }
            Stage::Commits(commit) => {
                act("hears", Some(*commit), &|world| {
                    let answer = world.land(commit);
                    set(world, if answer == Answer::Done { Stage::Reads } else { Stage::Dead });
                });
                act("waits in vain", Some(*commit), &|world| set(world, Stage::Unsure));
            }
            Stage::Unsure => {
                let is_mine = self.header.is_some_and(|tenure| tenure.nonce == nonce(COMMIT, number));
                act("looks again", None, &|world| set(world, if is_mine { Stage::Reads } else { Stage::Dead }));
            }
            Stage::Reads => act("reads", None, &|world| world.begin_pass(number)),
            Stage::Fences { read, steps, is_changed } => match steps.split_last() {
                None => act("ends a pass", None, &|world| {
                    set(world, if *is_changed { Stage::Reads } else { Stage::Fenced { read: *read } });
                }),
                Some((step, rest)) => {
                    let stage = |is_changed| Stage::Fences { read: *read, steps: rest.to_vec(), is_changed };
                    act("steps", Some(*step), &|world| {
                        world.send(*step);
                        let stage = match world.land(step) {
                            Answer::Done => stage(*is_changed),
                            Answer::Changed => stage(true),
                            Answer::Superseded | Answer::Gone => Stage::Dead,
                        };
                        set(world, stage);
                    });
                    act("steps in vain", Some(*step), &|world| {
                        world.send(*step);
                        set(world, stage(true));
                    });
                }
            },
            Stage::Fenced { read } => self.serve_actions(number, read, &mut act),
            Stage::Serves { knows, written } if *written < self.left.writes => {
                let slot = knows.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
                if slot >= SLOTS {
                    return;
                }
                let (slot, id) = (slot as u8, 20 + number as u8);
                let put = Request::Put { epoch, served: epoch, slot, id, revision: 1 };
                act("writes", Some(put), &|world| {
                    world.send(put);
                    if world.land(&put) == Answer::Done {
                        let mut knows = *knows;
                        knows[usize::from(slot)] = Some((id, 1));
                        set(world, Stage::Serves { knows, written: written + 1 });
                        world.acknowledge(slot, id, 1);
                    } else {
                        set(world, Stage::Dead);
                    }
                });
            }
            Stage::Serves { .. } | Stage::Dead => {}
        }
    }

    fn serve_actions(
        &self,
        number: usize,
        read: &Known,
        act: &mut impl FnMut(&'static str, Option<Request>, &dyn Fn(&mut Self)),
    ) {
        let epoch = self.candidates[number].epoch;
        let set = |world: &mut Self, stage| world.candidates[number].stage = stage;
        let serves = Stage::Serves { knows: *read, written: 0 };
        if self.left.mutant == Mutant::NoServe {
            return act("serves at once", None, &|world| set(world, serves.clone()));
        }
        let Some(tenure) = self.header.filter(|tenure| tenure.epoch == epoch || tenure.served == epoch) else {
            return act("is superseded", None, &|world| set(world, Stage::Dead));
        };
        if tenure.served == epoch {
            // The step was made, but its response was lost.
            return act("serves already", None, &|world| set(world, serves.clone()));
        }
        let serve = Request::Header { step: Step::Serve, epoch, seen: Some(tenure.nonce), nonce: nonce(SERVE, number) };
        act("serves", Some(serve), &|world| {
            world.send(serve);
            if world.land(&serve) == Answer::Done {
                set(world, serves.clone());
            }
        });
        act("serves in vain", Some(serve), &|world| world.send(serve));
    }

    /// Reads the call and derives the steps of a pass, as `fencing.rs` does.
    fn begin_pass(&mut self, number: usize) {
        let epoch = self.candidates[number].epoch;
        let Some(tenure) = self.header.filter(|tenure| tenure.epoch == epoch) else {
            self.candidates[number].stage = Stage::Dead;
            return;
        };
        let read = self.shown();
        let mut steps = Vec::new();
        for (slot, found) in self.slots.iter().enumerate() {
            if let Slot::Record { epoch: older, revision, .. } = *found
                && found.is_shown(tenure.served)
                && older < epoch
                && self.left.mutant != Mutant::NoStamps
            {
                steps.push(Request::Stamp { epoch, slot: slot as u8, read: revision });
            }
        }
        let taken: BTreeSet<Position> =
            (0..SLOTS).filter(|slot| read[*slot].is_some()).map(|slot| Position::message(slot as u32)).collect();
        for position in
            positions::open(&taken, SLOTS + 1).into_iter().filter(|position| position.summary_number().is_none())
        {
            let slot = position.seq() as usize;
            if slot < SLOTS && self.slots[slot] != (Slot::Fence { epoch }) {
                steps.push(Request::Fence { epoch, served: tenure.served, slot: slot as u8 });
            }
        }
        self.candidates[number].stage = Stage::Fences { read, steps, is_changed: false };
    }
}
