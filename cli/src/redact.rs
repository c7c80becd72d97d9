//! [`Mask`]: hides numbers and addresses of callers in what a command shows.

use clap::Args;
use verbale::log::{CardNumbers, LoggedCall, Pattern, Redactor, redact};

use crate::failure::Failure;

#[derive(Debug, Clone, Copy, Args)]
pub struct Mask {
    /// Masks card numbers, IBANs, e-mail addresses, telephone numbers and national ids.
    #[arg(long)]
    redact: bool,
}

impl Mask {
    /// Returns the call as it is shown. Nothing of the log changes.
    pub fn apply(self, mut call: LoggedCall) -> Result<LoggedCall, Failure> {
        let redactors: [&dyn Redactor; 5] =
            [&CardNumbers, &Pattern::Iban, &Pattern::Email, &Pattern::Phone, &Pattern::NationalId];
        for redactor in redactors.into_iter().filter(|_| self.redact) {
            for record in &mut call.records {
                *record = redact(record, redactor)?;
            }
        }
        Ok(call)
    }
}
