//! The turn engine: it asks the model, runs the tools that the model calls, and asks again until the answer is complete.
//!
//! Owns the order of these steps, their deadlines and retries, the content of each request, and the marks and records
//! of an answer. It does not depend on speech or on `conversation::Prompt`. A turn reports to an [`Ear`] and works on a
//! [`Core`], which a [`Host`] keeps under a lock. The lock is never held across an await. A run polls the engine's
//! future ([`drive`]); a live call spawns it.
//!
//! Read `drive.rs` first, then `ask.rs`, `request.rs`, `commit.rs`, `tools.rs`, `results.rs`, and `core.rs`.

mod ask;
mod commit;
mod core;
mod drive;
mod ear;
mod end;
mod event;
mod fork;
mod limit;
mod lookup;
mod memory;
mod rebuild;
mod record;
mod request;
mod results;
mod setup;
mod spans;
mod stale;
mod tools;
mod words;

pub(crate) use core::{Core, Host, Manager, Turn, count, since};
pub(crate) use drive::drive;
pub(crate) use ear::{Ear, Ended, Nobody};
pub(crate) use end::{TurnEnd, TurnFailure};
pub use event::{CallEvent, Observer, ReplyEnd, SpeechId, SummaryOutcome, ToolOutcome};
pub(crate) use lookup::look_up_inherited;
pub(crate) use rebuild::prompt_at;
pub(crate) use results::ResultRefused;
pub(crate) use setup::{Setup, Tools};
