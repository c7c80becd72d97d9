//! [`Times`]: the times of a message or part besides its creation.

use super::marks::Timing;
use super::{Amount, Empty};

const COUNT: usize = Timing::ALL.len() - 1;

/// The times of a message or part besides its creation, in milliseconds after it, in the order of [`Timing`].
///
/// The difference wraps, so that any time has one. Inline and in 32 bits, because a list of times would take as much
/// memory as the words.
#[derive(Clone)]
pub(crate) enum Times {
    Near([Amount; COUNT]),
    /// A time is more than 24 days from the creation.
    Far(Box<[Option<i64>; COUNT]>),
}

impl Times {
    pub const NONE: Self = Self::Near([Amount::UNKNOWN; COUNT]);

    pub fn get(&self, timing: Timing) -> Option<i64> {
        self.at(place(timing)?)
    }

    /// Iterates over the known times in the order of `Timing`.
    pub fn iter(&self) -> impl Iterator<Item = (Timing, i64)> + '_ {
        Timing::ALL.iter().skip(1).enumerate().filter_map(|(place, timing)| Some((*timing, self.at(place)?)))
    }

    /// Like [`iter`](Self::iter), with the times themselves.
    pub fn since(&self, creation_ms: i64) -> impl Iterator<Item = (Timing, i64)> + '_ {
        self.iter().map(move |(timing, after_ms)| (timing, creation_ms.wrapping_add(after_ms)))
    }

    /// Sets a time and returns the previous one. Ignores `Creation`.
    pub fn set(&mut self, timing: Timing, after_ms: i64) -> Option<i64> {
        let place = place(timing)?;
        let before = self.at(place);
        match (&mut *self, Amount::exact(after_ms)) {
            (Self::Near(all), Some(after_ms)) => *all.get_mut(place)? = after_ms,
            (Self::Far(all), _) => *all.get_mut(place)? = Some(after_ms),
            (Self::Near(all), None) => {
                let mut all = Box::new(all.map(Amount::get));
                *all.get_mut(place)? = Some(after_ms);
                *self = Self::Far(all);
            }
        }
        before
    }

    /// Returns the times up to `after_ms`.
    pub fn until(&self, after_ms: i64) -> Self {
        self.iter().filter(|(_, known_ms)| *known_ms <= after_ms).collect()
    }

    /// Returns the same times after a creation that is `by_ms` later.
    pub fn moved(&self, by_ms: i64) -> Self {
        self.iter().map(|(timing, after_ms)| (timing, after_ms.wrapping_sub(by_ms))).collect()
    }

    fn at(&self, place: usize) -> Option<i64> {
        match self {
            Self::Near(all) => all.get(place)?.get(),
            Self::Far(all) => *all.get(place)?,
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::NONE
    }
}

impl Empty for Times {
    const EMPTY: &'static Self = &Self::NONE;
}

impl FromIterator<(Timing, i64)> for Times {
    fn from_iter<I: IntoIterator<Item = (Timing, i64)>>(times: I) -> Self {
        let mut all = Self::default();
        for (timing, after_ms) in times {
            all.set(timing, after_ms);
        }
        all
    }
}

impl PartialEq for Times {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Times {}

fn place(timing: Timing) -> Option<usize> {
    (timing as usize).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_is_kept() {
        for far in [i64::from(i32::MIN), i64::from(i32::MAX) + 1, i64::MIN, i64::MAX] {
            let mut times = Times::default();
            assert_eq!(times.set(Timing::LlmStart, 5), None);
            let near = times.clone();
            assert_eq!(times.set(Timing::PlayEnd, far), None);
            assert_eq!(times.iter().collect::<Vec<_>>(), [(Timing::LlmStart, 5), (Timing::PlayEnd, far)]);
            assert!(times.until(5) == if far > 5 { near } else { times.clone() });
            assert!(times.moved(7).moved(-7) == times);
            assert_eq!(times.set(Timing::PlayEnd, -7), Some(far));
            assert!(times == [(Timing::LlmStart, 5), (Timing::PlayEnd, -7)].into_iter().collect());
        }
        assert!(size_of::<Times>() <= 32);
    }
}
