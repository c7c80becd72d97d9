//! [`FallbackModel`]: a model that asks other models if the first one fails or is slow.
//!
//! Owns the order of the targets, their circuit breakers and the hedge. It never changes a request, and switches only
//! before the first text or tool call of an answer.

mod breaker;
mod race;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Generation, Model, ModelRequest};
use breaker::{Breaker, Limits, Trial};
use race::Race;

/// A model that asks several targets in order: models, regions or providers that replace each other when one fails.
///
/// A request goes to the first target whose circuit breaker is closed. If the target fails before its first text or
/// tool call, the next target is asked at once, within the same answer. Retryable errors cause a switch, and so does
/// [`Failure::Denied`](super::Failure::Denied), which is also logged as an error for the operator. An error about an
/// invalid or refused request is returned, because the author of the request must fix it. If all targets fail, the
/// error is the first retryable one, or else the last one.
///
/// Each switch is a [`ModelEvent::Switched`](super::ModelEvent::Switched). The engine reports it as
/// [`CallEvent::ModelSwitched`](crate::conversation::CallEvent::ModelSwitched), counts it in the metrics, and stores it in
/// the turn record of the message. A target is named by its [`Model::id`]; a name that another target has gets a
/// number.
///
/// Clones share the circuit breakers. Create the model once per process, so that all calls learn from each other's failures.
///
/// ```
/// use std::time::Duration;
/// use verbale::model::{FallbackModel, Model};
///
/// fn reliable(first: impl Model + 'static, second: impl Model + 'static) -> FallbackModel {
///     FallbackModel::new(first)
///         .or_else(second)
///         .with_patience(Duration::from_secs(2))
///         .with_hedge(Duration::from_millis(900))
/// }
/// ```
#[derive(Clone)]
pub struct FallbackModel {
    targets: Vec<Arc<Target>>,
    limits: Limits,
    patience: Option<Duration>,
    hedge: Option<Duration>,
}

struct Target {
    name: Arc<str>,
    model: Box<dyn Model>,
    breaker: Breaker,
}

impl FallbackModel {
    /// Creates a model with one target.
    pub fn new(first: impl Model + 'static) -> Self {
        Self { targets: Vec::new(), limits: Limits::default(), patience: None, hedge: None }.or_else(first)
    }

    /// Adds a target, which is asked if all targets before it fail.
    #[must_use]
    pub fn or_else(mut self, other: impl Model + 'static) -> Self {
        let id = other.id().unwrap_or("model");
        let is_taken = self.targets.iter().any(|target| &*target.name == id);
        let name = if is_taken { format!("{id} ({})", self.targets.len() + 1).into() } else { id.into() };
        self.targets.push(Arc::new(Target { name, model: Box::new(other), breaker: Breaker::default() }));
        self
    }

    /// Sets how long a target may take until its first text or tool call while another target can be asked. By default,
    /// that is the target's own deadline.
    ///
    /// A target that takes longer counts as failed. Choose a time below the deadline of a turn
    /// ([`Config`](crate::conversation::Config)). If a target does not stream, choose a time above that of a whole
    /// answer.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Sends a second request if no text or tool call arrives within `delay`. The first one that answers wins, and the
    /// other one is cancelled. By default, there is no second request.
    ///
    /// The second request goes to the next target, or to the same one if no other target can be asked. A request has at
    /// most one hedge. The usage of the answer is that of the winner: the provider may charge for the
    /// cancelled request too. A delay near the 95th percentile of the time to the first token adds about 5% of requests.
    #[must_use]
    pub fn with_hedge(self, delay: Duration) -> Self {
        Self { hedge: Some(delay), ..self }
    }

    /// Sets after how many consecutive failures, at least 1, the circuit breaker of a target opens, and its first
    /// pause: 3 failures and 30 s by default.
    ///
    /// During the pause, the target is not asked. After it, one request tests the target. If that fails, the pause doubles, up to
    /// 5 minutes; if it succeeds, the breaker closes. A denied request opens the breaker at once. If the breakers of all
    /// targets are open, the one that closes soonest is asked, because a caller is waiting.
    #[must_use]
    pub fn with_breaker(self, failures: u32, pause: Duration) -> Self {
        Self { limits: Limits { failures, pause }, ..self }
    }

    /// Returns the first target from `start` on that may be asked, with its index.
    fn admit(&self, start: usize) -> Option<(usize, Trial)> {
        let mut targets = self.targets.iter().enumerate().skip(start);
        targets.find_map(|(index, target)| Some((index, target.breaker.admit()?)))
    }

    /// Returns the target whose breaker closes soonest, although all breakers are open.
    fn force(&self) -> Option<(usize, Trial)> {
        let targets = self.targets.iter().enumerate();
        let (index, target) = targets.min_by_key(|(_, target)| target.breaker.open_until())?;
        Some((index, target.breaker.force()))
    }
}

impl Model for FallbackModel {
    fn generate(&self, request: ModelRequest) -> Generation {
        Box::pin(Race::new(self.clone(), request))
    }

    /// Returns the id of the first target.
    fn id(&self) -> Option<&str> {
        self.targets.first()?.model.id()
    }
}

/// Shows the names of the targets.
impl fmt::Debug for FallbackModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackModel")
            .field("targets", &self.targets.iter().map(|target| &target.name).collect::<Vec<_>>())
            .field("limits", &self.limits)
            .field("patience", &self.patience)
            .field("hedge", &self.hedge)
            .finish()
    }
}
