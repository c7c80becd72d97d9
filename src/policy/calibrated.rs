//! [`Calibrated`]: an estimate that learns from what the model reports.

use super::tokens::{TokenEstimator, Tokens};
use crate::message::Message;

/// Another estimator, corrected by the usage that the model reports.
///
/// What is reported for a request is taken to be `overhead + factor × estimate`: the overhead is all that is not in the
/// window, as the system prompt and the tools, and the factor is how far the estimate is off for this model and this
/// language. Both are fitted to the latest reports, with less weight for older ones. The estimates of this type are
/// corrected by the factor; the overhead is in [`request`](Self::request) alone, for a summary cannot make it smaller.
///
/// ```
/// # use verbale::policy::{Calibrated, CharacterEstimator, TokenEstimator, Tokens};
/// let mut estimator = Calibrated::new(CharacterEstimator);
/// // Before each request, `uncorrected(window)`; with its answer, the usage.
/// for uncorrected in [100, 200, 400, 300, 150] {
///     estimator.observe(Tokens::new(uncorrected), Tokens::new(800 + uncorrected * 3 / 2));
/// }
/// assert!((1.4..1.6).contains(&estimator.factor()));
/// assert!((780..820).contains(&estimator.overhead().get()));
/// ```
#[derive(Debug, Clone)]
pub struct Calibrated<E> {
    inner: E,
    fit: Fit,
}

/// A report above this is no report: no model takes so much.
const MOST: u64 = 10_000_000;
/// The weight of the newest report, once there are enough.
const NEWEST: f64 = 0.1;
/// How far an estimate by characters can be off.
const FACTORS: std::ops::RangeInclusive<f64> = 0.25..=4.0;
/// A report is taken for at most so many times what was expected, or one so-many-th: one that is absurd moves little,
/// while one that is true will come again.
const SURPRISE: f64 = 3.0;
/// How much the sizes of windows have to differ, as a share of their mean, for the factor to be learnt from them.
const SPREAD: f64 = 0.02;

impl<E: TokenEstimator> Calibrated<E> {
    /// `inner`, not corrected so far.
    pub fn new(inner: E) -> Self {
        Self { inner, fit: Fit::default() }
    }

    /// The estimate of a window as [`observe`](Self::observe) wants it, without any correction.
    pub fn uncorrected<'a>(&self, window: impl IntoIterator<Item = &'a Message>) -> Tokens {
        window.into_iter().map(|message| self.inner.message(message)).sum()
    }

    /// Takes in what a model reported for a request.
    ///
    /// `uncorrected` is [`uncorrected`](Self::uncorrected) of the window of that request. `reported` is all of its input:
    /// on Bedrock `inputTokens` leaves out what was read from and written to the cache
    /// ([`TokenUsage`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html)), so
    /// `inputTokens + cacheReadInputTokens + cacheWriteInputTokens`. Zero on either side, and more than 10 million, are
    /// no report and change nothing.
    pub fn observe(&mut self, uncorrected: Tokens, reported: Tokens) {
        let sane = 1..=MOST;
        if sane.contains(&uncorrected.get()) && sane.contains(&reported.get()) {
            self.fit.take(uncorrected.get() as f64, reported.get() as f64);
        }
    }

    /// What a request with such a window is expected to be reported as, the overhead included.
    pub fn request(&self, uncorrected: Tokens) -> Tokens {
        rounded(self.fit.at(uncorrected.get() as f64))
    }

    /// Tokens of a request that are not in its window, as far as is known.
    pub fn overhead(&self) -> Tokens {
        rounded(self.fit.overhead())
    }

    /// What the estimates of the inner estimator are multiplied by, from 0.25 to 4; 1 until something is known.
    pub fn factor(&self) -> f64 {
        self.fit.factor()
    }

    fn corrected(&self, tokens: Tokens) -> Tokens {
        rounded(tokens.get() as f64 * self.factor())
    }
}

impl<E: TokenEstimator> TokenEstimator for Calibrated<E> {
    fn text(&self, text: &str) -> Tokens {
        self.corrected(self.inner.text(text))
    }

    fn message(&self, message: &Message) -> Tokens {
        self.corrected(self.inner.message(message))
    }
}

fn rounded(tokens: f64) -> Tokens {
    Tokens::new(tokens.max(0.0).round() as u64)
}

/// A line through pairs of estimate and report, by least squares with weights that fade.
#[derive(Debug, Clone, Copy, Default)]
struct Fit {
    reports: u32,
    estimate: f64,
    report: f64,
    /// Variance of the estimates.
    variance: f64,
    /// Covariance of estimates and reports.
    covariance: f64,
}

impl Fit {
    fn take(&mut self, estimate: f64, report: f64) {
        let report = match self.reports {
            0 => report,
            _ => {
                let expected = self.at(estimate).max(1.0);
                report.clamp(expected / SURPRISE, expected * SURPRISE)
            }
        };
        self.reports = self.reports.saturating_add(1);
        // The first reports count alike.
        let weight = f64::from(self.reports).recip().max(NEWEST);
        let (off_estimate, off_report) = (estimate - self.estimate, report - self.report);
        self.estimate += weight * off_estimate;
        self.report += weight * off_report;
        self.variance = (1.0 - weight) * (self.variance + weight * off_estimate * off_estimate);
        self.covariance = (1.0 - weight) * (self.covariance + weight * off_estimate * off_report);
    }

    /// Windows that were all of one size tell nothing about it: then it is drawn to 1. The overhead is never less than
    /// nothing: that bounds the factor.
    fn factor(&self) -> f64 {
        let most = self.report / self.estimate;
        if !most.is_finite() {
            return 1.0;
        }
        let pull = (SPREAD * self.estimate).powi(2);
        let slope = (self.covariance + pull * most.min(1.0)) / (self.variance + pull);
        slope.min(most).clamp(*FACTORS.start(), *FACTORS.end())
    }

    fn overhead(&self) -> f64 {
        (self.report - self.factor() * self.estimate).max(0.0)
    }

    fn at(&self, estimate: f64) -> f64 {
        self.overhead() + self.factor() * estimate
    }
}
