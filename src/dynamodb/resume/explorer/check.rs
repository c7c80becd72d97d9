//! The invariants of every state and of every step.

use super::Mutant;
use super::candidate::Stage;
use super::eraser::Eraser;
use super::owner::Phase;
use super::world::{Action, Known, Request, Revised, Step, World, alone};
use crate::dynamodb::rules::Slot;
use crate::log::Standing;

/// Returns the violated invariant of a state, if any.
pub fn broken(world: &World) -> Option<String> {
    if let Some(slot) = world.back_from_the_dead() {
        return Some(format!("a record is in slot {slot} of an erased call"));
    }
    let tenure = world.header?;
    if tenure.served > tenure.epoch {
        return Some(format!("the served epoch is higher than the epoch in {tenure:?}"));
    }
    if let Some(lost) = missing(&world.acknowledged, &world.shown()) {
        return Some(format!("{lost} is acknowledged, and no read shows it"));
    }
    for candidate in &world.candidates {
        let Stage::Serves { knows, .. } = &candidate.stage else { continue };
        let is_current = world.left.mutant == Mutant::NoServe || candidate.epoch == tenure.served;
        if let Some(unknown) = missing(&world.acknowledged, knows)
            && is_current
        {
            return Some(format!(
                "{unknown} is acknowledged, and the server of epoch {} does not know it",
                candidate.epoch
            ));
        }
        let is_foreign = |(shown, known): (&Option<Revised>, &Option<Revised>)| {
            shown.is_some_and(|(shown, _)| known.is_none_or(|(known, _)| known != shown))
        };
        if candidate.epoch == tenure.served
            && let Some(slot) = world.shown().iter().zip(knows).position(is_foreign)
        {
            return Some(format!("slot {slot} shows what the server of epoch {} does not know", candidate.epoch));
        }
    }
    stuck(world)
}

fn missing(acknowledged: &Known, known: &Known) -> Option<String> {
    let pairs = acknowledged.iter().zip(known).enumerate();
    pairs.into_iter().find_map(|(slot, (acknowledged, known))| {
        let (id, revision) = (*acknowledged)?;
        let is_known = known.is_some_and(|(found, newest)| found == id && newest >= revision);
        (!is_known).then(|| format!("revision {revision} of message {id} in slot {slot}"))
    })
}

/// Returns why no process could continue from this state if nothing else happened.
fn stuck(world: &World) -> Option<String> {
    let tenure = world.header?;
    // The next candidate has a higher epoch than all items.
    let next = tenure.epoch + 1;
    for (slot, found) in world.slots.iter().enumerate() {
        let can_go_on = match found {
            Slot::Record { revision, .. } if found.is_shown(tenure.served) => found.may_stamp(next, *revision),
            found => found.may_fence(next, tenure.served),
        };
        if !can_go_on {
            return Some(format!("a candidate can neither stamp nor fence slot {slot}: {found:?}"));
        }
    }
    // The owner could, too, once it has its call back.
    let owner = &world.owner;
    if owner.phase == Phase::Lost || owner.standing(tenure, Mutant::None) == Standing::Lost {
        return None;
    }
    for (slot, message) in owner.messages.iter().enumerate().filter(|(_, message)| message.stored < message.revision) {
        let (id, key) = (10 + slot as u8, world.key_of(slot as u8));
        let found = &world.slots[usize::from(key)];
        let there = if let Slot::Record { id: members, .. } = found { members[slot - usize::from(key)] } else { None };
        let there = there.filter(|(same, _)| *same == id).map(|(_, revision)| revision);
        let can_write = if world.is_in_span(slot as u8) {
            found.may_put_span(next, owner.served) || found.may_update(next, owner.served) && there.is_some()
        } else {
            alone(found).may_put(next, owner.served, &Some(id), message.revision)
        };
        if !can_write && there.is_none_or(|revision| revision < message.revision) {
            return Some(format!("the owner cannot take its call back: slot {slot} has {found:?}"));
        }
    }
    None
}

/// Returns the violated invariant of a step, if any.
pub fn broken_step(before: &World, after: &World, action: &Action) -> Option<String> {
    if before.header.is_none() && after.header.is_some() {
        return Some("an erased header is back".to_owned());
    }
    if before.eraser == Eraser::Done && before.acknowledged != after.acknowledged {
        return Some("a record of an erased call counts as stored".to_owned());
    }
    let (Some(old), Some(new)) = (before.header, after.header) else { return None };
    if new.epoch < old.epoch || new.served < old.served {
        return Some(format!("the epochs fell from {old:?} to {new:?}"));
    }
    if new.served > old.served && !old.is_contended {
        return Some("a candidate serves that had given up, or from which the call was taken back".to_owned());
    }
    let request = match action {
        Action::Late(request) => Some(request),
        Action::Owner(_, request) | Action::Candidate(_, _, request) => request.as_ref(),
        _ => None,
    };
    let is_serve = matches!(request, Some(Request::Header { step: Step::Serve, .. }));
    if before.has_ended && !after.has_ended && !is_serve {
        return Some("the end of the call was removed, and nobody serves".to_owned());
    }
    let slots = before.acknowledged.iter().zip(&after.acknowledged).enumerate();
    slots.into_iter().find_map(|(slot, (old, new))| {
        let ((old, _), (new, _)) = ((*old)?, (*new)?);
        (old != new).then(|| format!("messages {old} and {new} are both acknowledged in slot {slot}"))
    })
}
