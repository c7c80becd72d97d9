//! [`Breaker`]: the circuit breaker of one target of a fallback.
//!
//! It only counts and keeps times. `race.rs` decides which target is asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::from_now;

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// The number of consecutive failures that opens the breaker.
    pub failures: u32,
    /// The first pause. Each failed probe doubles it.
    pub pause: Duration,
}

impl Limits {
    const LONGEST_PAUSE: Duration = Duration::from_secs(300);
}

impl Default for Limits {
    fn default() -> Self {
        Self { failures: 3, pause: Duration::from_secs(30) }
    }
}

/// Stops requests to a target that fails, and lets one probe through after a pause.
///
/// Clones share the state.
#[derive(Debug, Clone, Default)]
pub(super) struct Breaker(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Consecutive failures while the breaker is closed.
    failures: u32,
    /// `None` while the breaker is closed.
    open: Option<Open>,
    /// A number that changes when the breaker opens, opens again or closes. A failure counts only in the generation of
    /// its request, so requests that fail at the same time lengthen the pause only once.
    generation: u64,
    /// Whether a request tests an open breaker.
    is_probing: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    until: Instant,
    pause: Duration,
}

impl Breaker {
    /// Returns a trial if the breaker is closed, or if its pause is over and no other probe is running.
    pub fn admit(&self) -> Option<Trial> {
        let mut state = self.state();
        let is_probe = match state.open {
            None => false,
            Some(open) if open.until <= Instant::now() && !state.is_probing => true,
            Some(_) => return None,
        };
        state.is_probing |= is_probe;
        Some(self.trial(&state, is_probe))
    }

    /// Returns a trial although the breaker is open.
    pub fn force(&self) -> Trial {
        self.trial(&self.state(), false)
    }

    /// Returns the end of the pause, or `None` if the breaker is closed.
    pub fn open_until(&self) -> Option<Instant> {
        self.state().open.map(|open| open.until)
    }

    fn trial(&self, state: &State, is_probe: bool) -> Trial {
        Trial { breaker: self.clone(), generation: state.generation, is_probe }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request to a target. Dropping it without a result counts neither as a success nor as a failure.
#[derive(Debug)]
pub(super) struct Trial {
    breaker: Breaker,
    generation: u64,
    is_probe: bool,
}

impl Trial {
    /// Closes the breaker. Returns whether it was open.
    pub fn succeed(self) -> bool {
        let mut state = self.breaker.state();
        state.failures = 0;
        let was_open = state.open.take().is_some();
        if was_open {
            state.generation += 1;
            state.is_probing = false;
        }
        was_open
    }

    /// Counts a failure. Returns the pause if the breaker opens. `is_final` opens it at the first failure.
    pub fn fail(self, limits: Limits, is_final: bool) -> Option<Duration> {
        let mut state = self.breaker.state();
        if state.generation != self.generation {
            return None;
        }
        let pause = match state.open {
            Some(open) => (open.pause * 2).min(Limits::LONGEST_PAUSE.max(limits.pause)),
            None => {
                state.failures += 1;
                if state.failures < limits.failures && !is_final {
                    return None;
                }
                limits.pause
            }
        };
        state.open = Some(Open { until: from_now(pause), pause });
        state.generation += 1;
        (state.failures, state.is_probing) = (0, false);
        Some(pause)
    }
}

/// Lets another probe through, unless the breaker has changed since.
impl Drop for Trial {
    fn drop(&mut self) {
        let mut state = self.breaker.state();
        if self.is_probe && state.generation == self.generation {
            state.is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LIMITS: Limits = Limits { failures: 3, pause: Duration::from_secs(30) };

    fn fail(breaker: &Breaker) -> Option<Duration> {
        breaker.admit().unwrap().fail(LIMITS, false)
    }

    fn opened() -> Breaker {
        let breaker = Breaker::default();
        assert_eq!([(); 3].map(|()| fail(&breaker)), [None, None, Some(Duration::from_secs(30))]);
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn only_consecutive_failures_open_it() {
        let breaker = Breaker::default();
        for _ in 0..3 {
            assert_eq!([fail(&breaker), fail(&breaker)], [None, None]);
            assert!(!breaker.admit().unwrap().succeed());
        }
        assert!(breaker.admit().is_some() && opened().admit().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn one_probe_closes_it_after_the_pause() {
        let breaker = opened();
        advance(Duration::from_secs(29)).await;
        assert!(breaker.admit().is_none());
        advance(Duration::from_secs(1)).await;
        let probe = breaker.admit().unwrap();
        assert!(breaker.admit().is_none(), "one probe at a time");
        drop(probe);
        let probe = breaker.admit().unwrap();
        assert!(probe.succeed());
        assert!(breaker.admit().is_some() && breaker.open_until().is_none());
        assert_eq!(fail(&breaker), None, "failures count from zero again");
    }

    #[tokio::test(start_paused = true)]
    async fn failed_probes_double_the_pause_up_to_five_minutes() {
        let breaker = opened();
        let mut pause = Duration::from_secs(30);
        for secs in [60, 120, 240, 300, 300] {
            advance(pause).await;
            pause = Duration::from_secs(secs);
            assert_eq!(fail(&breaker), Some(pause));
        }
        assert!(breaker.force().succeed());
        assert_eq!([(); 3].map(|()| fail(&breaker)), [None, None, Some(Duration::from_secs(30))]);
        let long = Limits { pause: Duration::from_secs(600), ..LIMITS };
        let breaker = Breaker::default();
        assert_eq!(breaker.force().fail(long, true), Some(long.pause));
        assert_eq!(breaker.force().fail(long, true), Some(long.pause), "a pause never gets shorter");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_at_the_same_time_open_it_once() {
        let breaker = Breaker::default();
        let trials: Vec<Trial> = (0..100).map(|_| breaker.force()).collect();
        let pauses: Vec<Duration> = trials.into_iter().filter_map(|trial| trial.fail(LIMITS, false)).collect();
        assert_eq!(pauses, [Duration::from_secs(30)]);
        let trials = [(); 100].map(|()| breaker.force());
        let pauses: Vec<Duration> = trials.into_iter().filter_map(|trial| trial.fail(LIMITS, false)).collect();
        assert_eq!(pauses, [Duration::from_secs(60)]);
    }
}
