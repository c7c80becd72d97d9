//! A Bedrock in this process, for tests: [`FakeBedrock`]. Behind the feature `testing`.
//!
//! The client in front of it is the SDK's own, so that what a test sees is what a service will see. It answers what a
//! script says, at the pace and with the faults that the script says, and refuses what Bedrock would refuse, in its
//! words. It knows `Converse` and `ConverseStream`, of any model id; it looks at no credentials.
//!
//! Two ways lead to it. [`FakeBedrock::sdk_config`] needs no socket: thousands of sessions fit into a test, and tokio's
//! clock may be paused, so that a hang of a minute takes no time. [`FakeBedrock::serve`] listens on the loopback interface,
//! where connections break as they do in a network.
//!
//! ```
//! use aws_sdk_bedrockruntime::Client;
//! use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, ConverseStreamOutput, Message};
//! use verbale::testing::{BedrockException, ScriptedReply, FakeBedrock};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bedrock = FakeBedrock::new();
//! bedrock.reply(ScriptedReply::text("It arrives on Friday."));
//! bedrock.reply(ScriptedReply::text("It arrives on").exception_after(2, BedrockException::ModelStreamError));
//! bedrock.reply(ScriptedReply::throttled());
//! let client = Client::from_conf(bedrock.sdk_config().build());
//!
//! let text = ContentBlock::Text("When does it arrive?".into());
//! let caller = Message::builder().role(ConversationRole::User).content(text).build()?;
//! let ask = || client.converse_stream().model_id("eu.amazon.nova-lite-v1:0").messages(caller.clone()).send();
//!
//! let mut answer = ask().await?.stream;
//! let mut said = String::new();
//! while let Some(event) = answer.recv().await? {
//!     if let ConverseStreamOutput::ContentBlockDelta(delta) = event
//!         && let Some(Ok(text)) = delta.delta.as_ref().map(|delta| delta.as_text())
//!     {
//!         said.push_str(text);
//!     }
//! }
//! assert_eq!(said, "It arrives on Friday.");
//!
//! let mut answer = ask().await?.stream;
//! assert!(answer.recv().await?.is_some() && answer.recv().await?.is_some());
//! assert!(answer.recv().await.is_err_and(|error| error.as_service_error().is_some()));
//! assert!(ask().await.is_err_and(|error| error.into_service_error().is_throttling_exception()));
//!
//! assert_eq!(bedrock.requests()[0].last_text(), Some("When does it arrive?"));
//! assert_eq!((bedrock.counters().requests, bedrock.counters().finished), (3, 3));
//! # Ok(()) }
//! ```

mod answer;
mod body;
mod connector;
mod counters;
mod exception;
mod frames;
mod parse;
mod reply;
mod request;
mod server;
mod service;

use std::fmt;
use std::io;
use std::sync::Arc;

use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::{
    BehaviorVersion, Builder, Config, Credentials, Region, StalledStreamProtectionConfig,
};

pub use counters::RequestCounters;
pub use exception::BedrockException;
pub use reply::ScriptedReply;
pub use request::ReceivedRequest;
pub use server::FakeBedrockServer;

use connector::Connector;
use service::Service;

/// A Bedrock in this process. Clones share the script, what was asked, and the counters.
///
/// A request takes the next [`reply`](Self::reply); where there is none left, the one that the responder gives.
#[derive(Clone)]
pub struct FakeBedrock(Arc<Service>);

impl FakeBedrock {
    /// One that answers `Yes, I am here.` until it is told otherwise.
    #[must_use]
    pub fn new() -> Self {
        Self::answering(|_| ScriptedReply::text("Yes, I am here."))
    }

    /// One that answers by what it is asked.
    ///
    /// ```
    /// use verbale::testing::{ScriptedReply, FakeBedrock};
    ///
    /// let bedrock = FakeBedrock::answering(|request| match request.last_text() {
    ///     Some("What time is it?") => ScriptedReply::default().tool_call("call_1", "clock", serde_json::json!({})),
    ///     _ if request.number() % 10 == 9 => ScriptedReply::throttled(),
    ///     _ => ScriptedReply::text("Of course."),
    /// });
    /// # let _ = bedrock;
    /// ```
    #[must_use]
    pub fn answering(responder: impl Fn(&ReceivedRequest) -> ScriptedReply + Send + Sync + 'static) -> Self {
        Self(Arc::new(Service::new(Arc::new(responder))))
    }

    /// The same, and from now on it answers what Bedrock would refuse.
    #[must_use]
    pub fn without_validation(self) -> Self {
        self.0.script().is_validating = false;
        self
    }

    /// Answers the next request that has no reply yet. A request that is refused as invalid takes none.
    pub fn reply(&self, reply: ScriptedReply) {
        self.0.script().replies.push_back(reply);
    }

    /// The settings of an SDK client that asks it without a socket, for what a test adds: dummy credentials, a region,
    /// one attempt, so that each request takes one reply, no stalled-stream protection, no time-outs.
    ///
    /// ```
    /// # use verbale::testing::FakeBedrock;
    /// use std::time::Duration;
    /// use aws_sdk_bedrockruntime::Client;
    /// use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
    ///
    /// let timeouts = TimeoutConfig::builder().operation_timeout(Duration::from_secs(10)).build();
    /// let client = Client::from_conf(FakeBedrock::new().sdk_config().timeout_config(timeouts).build());
    /// # let _ = client;
    /// ```
    #[must_use]
    pub fn sdk_config(&self) -> Builder {
        config("http://bedrock.invalid").http_client(Connector::new(Arc::clone(&self.0)))
    }

    /// Listens on a free port of 127.0.0.1 as well, until what this gives is dropped.
    ///
    /// Needs a tokio runtime with I/O, whose clock runs: a paused one jumps to the next time-out while bytes are under
    /// way.
    ///
    /// Errors: there is no port.
    pub async fn serve(&self) -> io::Result<FakeBedrockServer> {
        FakeBedrockServer::start(Arc::clone(&self.0)).await
    }

    /// All requests that could be read so far, in the order in which they came; the ones that were refused too.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<ReceivedRequest>> {
        self.0.script().requests.clone()
    }

    /// The same, and forgets them: what a long test does from time to time.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Arc<ReceivedRequest>> {
        std::mem::take(&mut self.0.script().requests)
    }

    /// What has come and gone so far.
    #[must_use]
    pub fn counters(&self) -> RequestCounters {
        self.0.tally.now()
    }

    /// Waits until what has come and gone is so, and gives it.
    ///
    /// ```
    /// # use verbale::testing::{ScriptedReply, FakeBedrock};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let bedrock = FakeBedrock::new();
    /// assert_eq!(bedrock.until(|counters| counters.cancelled == 0).await.requests, 0);
    /// # }
    /// ```
    pub async fn until(&self, is_reached: impl FnMut(&RequestCounters) -> bool) -> RequestCounters {
        self.0.tally.until(is_reached).await
    }
}

impl Default for FakeBedrock {
    fn default() -> Self {
        Self::new()
    }
}

/// What it has counted; nothing of what was said.
impl fmt::Debug for FakeBedrock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeBedrock").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

fn config(endpoint_url: &str) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        // The SDK wants them; none is looked at.
        .region(Region::from_static("us-east-1"))
        .endpoint_url(endpoint_url)
        .credentials_provider(Credentials::new("stand-in", "stand-in", None, None, "stand-in"))
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}
