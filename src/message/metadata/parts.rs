//! The parts of a message.

use super::{Empty, Metadata, More};
use crate::message::Rarely;
use crate::message::part::{Measured, PartData};

/// The parts of a message. Empty unless it was merged or has a confidence.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub first: Rarely<Measured>,
    pub later: Option<Box<[PartData]>>,
}

impl Empty for Parts {
    const EMPTY: &'static Self = &Self { first: Rarely::EMPTY, later: None };
}

impl Metadata {
    /// The parts after the first, in the order of their arrival.
    pub(crate) fn later_parts(&self) -> &[PartData] {
        self.more.as_ref().and_then(|more| more.parts.later.as_deref()).unwrap_or_default()
    }

    /// Returns the times and confidence of the first part. A message that was never merged has its times elsewhere.
    pub(crate) fn first_measured(&self) -> Option<&Measured> {
        Some(&self.more.as_ref()?.parts.first)
    }

    /// Returns whether the parts have data that the message lacks.
    pub(in crate::message) fn has_parts(&self) -> bool {
        let is_known = self.more.as_ref().is_some_and(|more| *more.parts != *Parts::EMPTY);
        is_known || self.unknown().is_some_and(|unknown| !unknown.parts.is_empty())
    }

    /// Appends a part.
    pub(crate) fn add_part(&mut self, part: PartData) {
        let More { times, parts, .. } = self.more();
        if parts.later.is_none() {
            parts.first.set_times((**times).clone());
        }
        let mut later = parts.later.take().unwrap_or_default().into_vec();
        later.reserve_exact(1);
        later.push(part);
        parts.later = Some(later.into());
    }

    /// Returns the last part, mutable, if the message was merged.
    pub(crate) fn last_later_part(&mut self) -> Option<&mut PartData> {
        if self.later_parts().is_empty() { None } else { self.more().parts.later.as_mut()?.last_mut() }
    }

    /// Returns the times and confidence of the last part, mutable.
    pub(crate) fn last_measured(&mut self) -> &mut Rarely<Measured> {
        let Parts { first, later } = &mut *self.more().parts;
        later.as_mut().and_then(|later| later.last_mut()).map_or(first, |part| &mut part.measured)
    }

    pub(crate) fn set_parts(&mut self, first: Rarely<Measured>, later: Vec<PartData>) {
        self.more().parts = Parts { first, later: (!later.is_empty()).then(|| later.into()) }.into();
    }

    /// Removes the parts, which do not fit other contents.
    pub(crate) fn remove_parts(&mut self) {
        if self.has_parts() {
            self.more().parts = Rarely::default();
            if self.unknown().is_some_and(|unknown| !unknown.parts.is_empty()) {
                self.unknown_mut().parts.clear();
            }
            self.tidy();
        }
    }
}
