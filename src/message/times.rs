//! [`Times`]: the times of a message or part besides its creation.

use super::marks::Timing;

/// The times of a message or part besides its creation, in milliseconds since the Unix epoch.
///
/// Inline, because a vector of them would take as much memory as the words.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// A bit for each known time.
    known: u8,
    /// In the order of `Timing`, without `Creation`; 0 if unknown.
    at_ms: [i64; Timing::ALL.len() - 1],
}

impl Times {
    pub fn get(&self, timing: Timing) -> Option<i64> {
        self.iter().find(|(known, _)| *known == timing).map(|(_, at_ms)| at_ms)
    }

    /// Iterates over the known times in the order of `Timing`.
    pub fn iter(&self) -> impl Iterator<Item = (Timing, i64)> + '_ {
        let all = Timing::ALL.iter().skip(1).zip(&self.at_ms);
        all.filter(|(timing, _)| self.known & bit(**timing) != 0).map(|(timing, at_ms)| (*timing, *at_ms))
    }

    /// Sets a time and returns the previous one. Ignores `Creation`.
    pub fn set(&mut self, timing: Timing, at_ms: i64) -> Option<i64> {
        let place = (timing as usize).checked_sub(1)?;
        let was_known = self.known & bit(timing) != 0;
        self.known |= bit(timing);
        let before = std::mem::replace(self.at_ms.get_mut(place)?, at_ms);
        was_known.then_some(before)
    }

    /// Returns the times up to `at_ms`.
    pub fn until(&self, at_ms: i64) -> Self {
        let mut earlier = Self::default();
        for (timing, known_ms) in self.iter().filter(|(_, known_ms)| *known_ms <= at_ms) {
            earlier.set(timing, known_ms);
        }
        earlier
    }
}

const fn bit(timing: Timing) -> u8 {
    1 << timing as u8
}
