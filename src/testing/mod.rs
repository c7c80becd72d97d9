//! Fakes for the tests of a voice service: [`FakeBedrock`], [`ScriptedModel`], [`FaultyLog`] and [`SpoolMemory`]; and
//! [`call_log_conformance`], which checks a log of your own. Feature `testing`.
//!
//! Owns the scripts of tests and the observations of the fakes. The rest of the crate never uses it.

mod bedrock;
mod conformance;
mod log;
mod model;
mod spool;

pub use bedrock::{FakeBedrock, FakeBedrockServer, ReceivedRequest, RequestCounters, ScriptedReply};
pub use conformance::call_log_conformance;
pub use log::{FaultyLog, LogFault};
pub use model::ScriptedModel;
pub use spool::SpoolMemory;
