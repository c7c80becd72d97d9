//! One live call: what is spoken of an answer while it comes, and what became of tool calls.
//!
//! Owns what goes on between the caller, the model and the log during a call. Never names a provider or a database.

mod ledger;
mod sentences;

pub use ledger::{Ledger, LedgerEntry, LedgerError, NOT_RUN, OUTCOME_UNKNOWN, ToolState};
pub use sentences::Sentences;
