//! The turn engine: it asks the model, runs the tools that it calls, and asks again until the answer is complete.
//!
//! Owns the order of these, their deadlines and retries, what is marked and logged of an answer, and the prompt. A run polls
//! the engine's one future ([`drive`]), a live call spawns it. It knows neither speech nor prompts: who listens is an
//! [`Ear`], and what it works on is a [`Core`] under its [`Host`]'s lock, which is never held across an await.
//!
//! Read `drive.rs`, then `ask.rs`, `request.rs`, `commit.rs`, `results.rs`, and `core.rs`.

mod ask;
mod commit;
mod core;
mod drive;
mod ear;
mod end;
mod event;
mod record;
mod request;
mod results;
mod setup;
mod spans;

pub(crate) use core::{Core, Host, Manager, count, since};
pub(crate) use drive::drive;
pub(crate) use ear::{Ear, Ended, EndedTurn, Nobody, outcome_of};
pub(crate) use end::{TurnEnd, TurnFailure};
pub use event::{CallEvent, Observer, ReplyOutcome, SpeechId, SummaryFailure, SummaryOutcome, ToolOutcome};
pub use results::ResultRefused;
pub(crate) use setup::{Setup, Tools};
