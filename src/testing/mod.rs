//! Fakes for the tests of a voice service: [`FakeBedrock`], [`ScriptedModel`] and [`FaultyLog`]. Feature `testing`.
//!
//! Owns what a test scripts and observes. Never used by the rest of the crate.

mod bedrock;
mod log;
mod model;

pub use bedrock::{FakeBedrock, FakeBedrockServer, ReceivedRequest, RequestCounters, ScriptedReply};
pub use log::{FaultyLog, LogFault};
pub use model::ScriptedModel;
