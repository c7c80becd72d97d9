//! What a test of a voice service needs in place of the world: a Bedrock in this process. Behind the feature `testing`.

mod bedrock;

pub use bedrock::{BedrockException, FakeBedrock, FakeBedrockServer, ReceivedRequest, RequestCounters, ScriptedReply};
