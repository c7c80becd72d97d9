//! An in-process Bedrock: [`FakeBedrock`].
//!
//! A test uses the real SDK client, so it sees what a service sees. The fake answers from a script, at a scripted pace
//! and with scripted faults, and refuses invalid requests in Bedrock's words. It serves `Converse` and `ConverseStream`
//! for any model id, refuses what [`validate`](crate::bedrock::validate()) reports, and ignores credentials.
//!
//! There are two ways to connect. [`FakeBedrock::sdk_config`] needs no socket: a test can run thousands of sessions, and
//! tokio's clock may be paused. [`FakeBedrock::serve`] listens on the loopback interface, for tests of connections.
//!
//! ```
//! use aws_sdk_bedrockruntime::Client;
//! use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, ConverseStreamOutput, Message};
//! use verbale::testing::{FakeBedrock, ScriptedReply};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let bedrock = FakeBedrock::default();
//!     bedrock.reply(ScriptedReply::text("It arrives on Friday."));
//!     bedrock.reply(ScriptedReply::text("It arrives on").exception_after(2, "ModelStreamErrorException"));
//!     bedrock.reply(ScriptedReply::refused("ThrottlingException"));
//!     let client = Client::from_conf(bedrock.sdk_config().build());
//!
//!     let text = ContentBlock::Text("When does it arrive?".into());
//!     let caller = Message::builder().role(ConversationRole::User).content(text).build()?;
//!     let ask = || client.converse_stream().model_id("eu.amazon.nova-lite-v1:0").messages(caller.clone()).send();
//!
//!     let mut answer = ask().await?.stream;
//!     let mut said = String::new();
//!     while let Some(event) = answer.recv().await? {
//!         if let ConverseStreamOutput::ContentBlockDelta(delta) = event
//!             && let Some(Ok(text)) = delta.delta.as_ref().map(|delta| delta.as_text())
//!         {
//!             said.push_str(text);
//!         }
//!     }
//!     assert_eq!(said, "It arrives on Friday.");
//!
//!     let mut answer = ask().await?.stream;
//!     assert!(answer.recv().await?.is_some() && answer.recv().await?.is_some());
//!     assert!(answer.recv().await.is_err_and(|error| error.as_service_error().is_some()));
//!     assert!(ask().await.is_err_and(|error| error.into_service_error().is_throttling_exception()));
//!
//!     assert_eq!(bedrock.requests()[0].last_text(), Some("When does it arrive?"));
//!     assert_eq!((bedrock.counters().requests, bedrock.counters().finished), (3, 3));
//!     Ok(())
//! }
//! ```

mod answer;
mod body;
mod connector;
mod counters;
mod events;
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

pub(super) use answer::EVENTS_AT_ONCE;
pub use counters::RequestCounters;
pub(super) use events::events;
pub(super) use exception::Exception;
pub use reply::ScriptedReply;
pub(super) use reply::{Fault, Refusal};
pub use request::ReceivedRequest;
pub use server::FakeBedrockServer;

use connector::Connector;
use service::Service;

/// The text of an answer without a script.
pub(super) const DEFAULT_TEXT: &str = "Yes, I am here.";

/// An in-process Bedrock for the real SDK client.
///
/// Each request takes the next [`reply`](Self::reply). If no reply is left, it gets the one that the responder of
/// [`answering`](Self::answering) returns, or `Yes, I am here.` Clones share the script, the received requests and the
/// counters.
#[derive(Clone)]
pub struct FakeBedrock(Arc<Service>);

impl FakeBedrock {
    /// Creates a Bedrock that answers each request without a scripted reply with the result of `responder`.
    ///
    /// ```
    /// use verbale::testing::{FakeBedrock, ScriptedReply};
    ///
    /// let bedrock = FakeBedrock::answering(|request| match request.last_text() {
    ///     Some("What time is it?") => ScriptedReply::default().tool_call("call_1", "clock", serde_json::json!({})),
    ///     _ if request.number() % 10 == 9 => ScriptedReply::refused("ThrottlingException"),
    ///     _ => ScriptedReply::text("Of course."),
    /// });
    /// ```
    #[must_use]
    pub fn answering(responder: impl Fn(&ReceivedRequest) -> ScriptedReply + Send + Sync + 'static) -> Self {
        Self(Arc::new(Service::new(Arc::new(responder))))
    }

    /// Adds the reply to the next request that does not have one yet. An invalid request uses no reply.
    pub fn reply(&self, reply: ScriptedReply) {
        self.0.script().replies.push_back(reply);
    }

    /// Returns the configuration of an SDK client that connects without a socket.
    ///
    /// The configuration has dummy credentials and a region. It makes one attempt, so that each request takes one
    /// reply. It has no stalled-stream protection and no timeouts.
    ///
    /// ```
    /// use std::time::Duration;
    /// use aws_sdk_bedrockruntime::Client;
    /// use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
    /// use verbale::testing::FakeBedrock;
    ///
    /// let timeouts = TimeoutConfig::builder().operation_timeout(Duration::from_secs(10)).build();
    /// let client = Client::from_conf(FakeBedrock::default().sdk_config().timeout_config(timeouts).build());
    /// ```
    #[must_use]
    pub fn sdk_config(&self) -> Builder {
        config("http://bedrock.invalid").http_client(Connector::new(Arc::clone(&self.0)))
    }

    /// Starts a server on a free port of 127.0.0.1, which stops when it is dropped.
    ///
    /// Needs a tokio runtime with I/O. Tokio's clock must not be paused, because a paused clock jumps to the next
    /// timeout while bytes are in transit.
    ///
    /// Returns an error if no port can be opened.
    pub async fn serve(&self) -> io::Result<FakeBedrockServer> {
        FakeBedrockServer::start(Arc::clone(&self.0)).await
    }

    /// Returns all requests so far in order, including refused ones. Unreadable requests are left out.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<ReceivedRequest>> {
        self.0.script().requests.clone()
    }

    /// Returns the same as [`requests`](Self::requests), and forgets the requests, which saves memory in long tests.
    #[must_use]
    pub fn take_requests(&self) -> Vec<Arc<ReceivedRequest>> {
        std::mem::take(&mut self.0.script().requests)
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> RequestCounters {
        self.0.tally.now()
    }

    /// Waits until `is_reached` returns `true` for the counters, and returns them.
    ///
    /// ```
    /// # use verbale::testing::FakeBedrock;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let bedrock = FakeBedrock::default();
    /// assert_eq!(bedrock.until(|counters| counters.cancelled == 0).await.requests, 0);
    /// # }
    /// ```
    pub async fn until(&self, is_reached: impl FnMut(&RequestCounters) -> bool) -> RequestCounters {
        self.0.tally.until(is_reached).await
    }
}

/// A Bedrock that answers `Yes, I am here.` to each request without a scripted reply.
impl Default for FakeBedrock {
    fn default() -> Self {
        Self::answering(|_| ScriptedReply::text(DEFAULT_TEXT))
    }
}

/// Shows the counters.
impl fmt::Debug for FakeBedrock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeBedrock").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

fn config(endpoint_url: &str) -> Builder {
    Config::builder()
        .behavior_version(BehaviorVersion::latest())
        // The SDK requires a region and credentials, which are ignored.
        .region(Region::from_static("us-east-1"))
        .endpoint_url(endpoint_url)
        .credentials_provider(Credentials::new("fake", "fake", None, None, "fake"))
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
}
