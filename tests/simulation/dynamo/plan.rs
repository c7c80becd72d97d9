//! [`FaultPlan`]: the faults of a history, derived from one seed.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::dice::{Dice, hash};
use super::fault::{Fate, Fault, GHOST_MS, Scope, Window};
use super::operation::ItemKey;

/// The faults of a history: their rates and times.
///
/// The fault of a request depends on the seed, its operation, its key and the number of earlier requests for the key. It
/// does not depend on other requests, so a change to one part of a history does not affect the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultPlan {
    pub seed: u64,
    /// The time from a request to its response. A wide range reorders responses.
    pub latency_ms: RangeInclusive<u64>,
    /// Faults with their probability for each request.
    pub rates: Vec<(Fault, f64)>,
    /// Faults for a time. They precede the rates.
    pub windows: Vec<Window>,
    /// The times when the client's clock steps, counted from the start, with the step in milliseconds.
    pub clock_steps: Vec<(Duration, i64)>,
    /// The write units per second of a partition key.
    pub partition_limit: Option<u64>,
}

impl FaultPlan {
    /// Returns a plan without faults or latency.
    pub fn none() -> Self {
        Self {
            seed: 0,
            latency_ms: 0..=0,
            rates: Vec::new(),
            windows: Vec::new(),
            clock_steps: Vec::new(),
            partition_limit: None,
        }
    }

    /// Returns the plan of a seed, from calm to severe. Windows start in the first ten minutes.
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice::of(&[seed, hash("plan")]);
        let (worst, latency_ms) = match dice.below(4) {
            0 => (0.0, 1..=10),
            1 => (0.01, 5..=50),
            2 => (0.05, 5..=500),
            _ => (0.2, 1..=2_500),
        };
        let mut plan = Self { seed, latency_ms, partition_limit: Some(1_000), ..Self::none() };
        for fault in Fault::PASSING {
            if dice.chance(0.5) {
                plan.rates.push((fault, worst * dice.below(101) as f64 / 100.0));
            }
        }
        for _ in 0..dice.below(3) {
            let from = Duration::from_millis(dice.below(600_000));
            plan.windows.push(some_window(&mut dice, from));
        }
        if dice.chance(0.2) {
            let at = Duration::from_millis(dice.below(600_000));
            plan.clock_steps.push((at, -3_600_000));
        }
        plan
    }

    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    #[must_use]
    pub fn with_latency_ms(mut self, latency_ms: RangeInclusive<u64>) -> Self {
        self.latency_ms = latency_ms;
        self
    }

    #[must_use]
    pub fn with_rate(mut self, fault: Fault, probability: f64) -> Self {
        self.rates.push((fault, probability));
        self
    }

    #[must_use]
    pub fn with_window(mut self, window: Window) -> Self {
        self.windows.push(window);
        self
    }

    #[must_use]
    pub fn with_clock_step(mut self, at: Duration, by_ms: i64) -> Self {
        self.clock_steps.push((at, by_ms));
        self
    }

    #[must_use]
    pub fn with_partition_limit(mut self, units_per_second: u64) -> Self {
        self.partition_limit = Some(units_per_second);
        self
    }

    /// Returns all faults that the plan may inject.
    pub fn faults(&self) -> BTreeSet<Fault> {
        let rates = self.rates.iter().filter(|(_, probability)| *probability > 0.0).map(|(fault, _)| *fault);
        rates.chain(self.windows.iter().map(|window| window.fault)).collect()
    }

    /// Returns the fate of the `nth` request of an operation for its key. `ordered` overrides the plan.
    pub fn fate(
        &self,
        at: Duration,
        operation: &str,
        item_key: &ItemKey,
        nth: u64,
        ordered: Option<Option<Fault>>,
    ) -> Fate {
        let mut dice = self.dice(operation, item_key, nth);
        let total_ms = dice.within(&self.latency_ms);
        let (mut there, back) = (Duration::from_millis(total_ms / 2), Duration::from_millis(total_ms - total_ms / 2));
        let in_window = self.windows.iter().filter(|window| window.covers(at, operation, item_key));
        let windows = in_window.map(|window| (window.fault, window.probability));
        let mut faults = windows.chain(self.rates.iter().copied()).filter(|(fault, _)| fault.suits(operation));
        let of_plan = faults.find(|(_, probability)| dice.chance(*probability)).map(|(fault, _)| fault);
        let fault = ordered.unwrap_or(of_plan);
        if fault == Some(Fault::Ghost) {
            there = Duration::from_millis(dice.within(&GHOST_MS));
        }
        Fate { fault, there, back }
    }

    /// Returns dice for other decisions about a request.
    pub fn dice(&self, operation: &str, item_key: &ItemKey, nth: u64) -> Dice {
        Dice::of(&[self.seed, hash(operation), hash(&item_key.0), hash(&item_key.1), nth])
    }
}

/// Returns a window of a kind that occurs in practice.
fn some_window(dice: &mut Dice, from: Duration) -> Window {
    let lasts = |seconds| from..from + Duration::from_secs(seconds);
    match dice.below(8) {
        0 => Window::new(Fault::Throttle, lasts(60)).with_probability(0.9),
        1 => Window::new(Fault::Throttle, lasts(120)).for_only(Scope::OnePartitionIn(2)),
        2 => Window::new(Fault::ResetBefore, lasts(3 * 3_600)),
        3 => Window::new(Fault::TimeoutBefore, lasts(3 * 3_600)),
        4 => Window::new(Fault::Html502, lasts(300)).with_probability(0.8),
        5 => Window::new(Fault::TableMissing, lasts(120)),
        6 => Window::new(Fault::AccessDenied, lasts(300)),
        _ => Window::new(Fault::ExpiredToken, lasts(900)),
    }
}
