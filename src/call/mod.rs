//! One live call: what is spoken of an answer while it comes, what became of tool calls, and what the call came to.
//!
//! Owns what goes on between the caller, the model and the log during a call. Never names a provider or a database.

mod ledger;
mod observer;
mod prices;
mod sentences;
mod totals;

pub use ledger::{Ledger, LedgerEntry, LedgerError, NOT_RUN, OUTCOME_UNKNOWN, ToolState};
pub use observer::{CallEvent, Observer, ReplyOutcome, SummaryFailure, SummarySkip, ToolOutcome};
pub use prices::{Prices, TokenPrices};
pub use sentences::Sentences;
pub use totals::{Durations, Spread, Totals};
