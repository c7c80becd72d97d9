//! [`Calibrated`]: an estimator that learns from the usage that the model reports.

use super::tokens::{TokenEstimator, Tokens};
use crate::message::Message;

/// An estimator that corrects another one by the usage that the model reports.
///
/// A report is modelled as `overhead + factor × estimate`. The overhead is everything outside the window, such as the
/// system prompt and the tools. The factor is the error of the estimate for this model and language. Both are fitted to
/// the reports; newer reports weigh more. Estimates are corrected by the factor alone, because a summary cannot reduce
/// the overhead.
#[derive(Debug, Clone)]
pub(crate) struct Calibrated<E> {
    inner: E,
    pub(super) fit: Fit,
}

/// Larger reports are ignored: no model accepts this many tokens.
const MOST: u64 = 10_000_000;
/// The weight of the newest report after the first ten.
const NEWEST: f64 = 0.1;
/// The possible errors of an estimate by characters.
const FACTORS: std::ops::RangeInclusive<f64> = 0.25..=4.0;
/// A report is clamped to this multiple of the expectation, and to its inverse. A single absurd report then changes
/// little, while a true one repeats.
const SURPRISE: f64 = 3.0;
/// The factor is learnt from windows whose sizes differ by more than this share of their mean.
const SPREAD: f64 = 0.02;

impl<E: TokenEstimator> Calibrated<E> {
    /// Wraps an estimator, without a correction yet.
    pub fn new(inner: E) -> Self {
        Self { inner, fit: Fit::default() }
    }

    /// Estimates a window without correction, for [`observe`](Self::observe).
    pub fn uncorrected<'a>(&self, window: impl IntoIterator<Item = &'a Message>) -> Tokens {
        window.into_iter().map(|message| self.inner.message(message)).sum()
    }

    /// Learns from the usage that a model reported for a request.
    ///
    /// `uncorrected` is the [`uncorrected`](Self::uncorrected) estimate of the request's window. `reported` is its whole
    /// input: on Bedrock `inputTokens + cacheReadInputTokens + cacheWriteInputTokens`, because `inputTokens` excludes the
    /// cache ([`TokenUsage`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html)). Ignores
    /// values of zero and above 10 million.
    pub fn observe(&mut self, uncorrected: Tokens, reported: Tokens) {
        let sane = 1..=MOST;
        if sane.contains(&uncorrected.get()) && sane.contains(&reported.get()) {
            self.fit.add(uncorrected.get() as f64, reported.get() as f64);
        }
    }

    /// Returns the factor that corrects the inner estimator, from 0.25 to 4; 1 before the first report.
    pub(super) fn factor(&self) -> f64 {
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

/// A line fitted to pairs of estimate and report, by least squares with exponentially fading weights.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fit {
    reports: u32,
    estimate: f64,
    report: f64,
    /// Variance of the estimates.
    variance: f64,
    /// Covariance of estimates and reports.
    covariance: f64,
}

impl Fit {
    fn add(&mut self, estimate: f64, report: f64) {
        let report = match self.reports {
            0 => report,
            _ => {
                let expected = self.expected(estimate).max(1.0);
                report.clamp(expected / SURPRISE, expected * SURPRISE)
            }
        };
        self.reports = self.reports.saturating_add(1);
        // The first ten reports have equal weight.
        let weight = f64::from(self.reports).recip().max(NEWEST);
        let (off_estimate, off_report) = (estimate - self.estimate, report - self.report);
        self.estimate += weight * off_estimate;
        self.report += weight * off_report;
        self.variance = (1.0 - weight) * (self.variance + weight * off_estimate * off_estimate);
        self.covariance = (1.0 - weight) * (self.covariance + weight * off_estimate * off_report);
    }

    /// Returns the slope of the line. Windows of one size do not determine a slope, so the slope is pulled towards 1.
    /// Its upper bound keeps the overhead from becoming negative.
    fn factor(&self) -> f64 {
        let most = self.report / self.estimate;
        if !most.is_finite() {
            return 1.0;
        }
        let pull = (SPREAD * self.estimate).powi(2);
        let slope = (self.covariance + pull * most.min(1.0)) / (self.variance + pull);
        slope.min(most).clamp(*FACTORS.start(), *FACTORS.end())
    }

    pub fn overhead(&self) -> f64 {
        (self.report - self.factor() * self.estimate).max(0.0)
    }

    pub fn expected(&self, estimate: f64) -> f64 {
        self.overhead() + self.factor() * estimate
    }
}
