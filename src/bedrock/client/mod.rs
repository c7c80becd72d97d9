//! [`BedrockModel`]: the [`Model`] port over `aws-sdk-bedrockruntime`.
//!
//! Owns the request and its repair, cache points, the events of the answer, the meaning of errors, and the second form of a
//! refused request. Keeps no state between requests, sets no deadlines, and spawns no tasks.

mod answer;
mod cache;
mod config;
mod failure;
mod formats;
mod prepare;
mod reader;
mod refused;
mod repair;
mod response;
mod send;
mod settings;
mod stable;

use std::fmt;
use std::sync::Arc;

use aws_sdk_bedrockruntime::Client;
use futures_util::StreamExt;
use futures_util::stream::unfold;

pub use config::{summary_client, turn_client};
#[cfg(feature = "testing")]
pub(crate) use reader::AnswerReader;
pub use repair::repair;
#[cfg(feature = "testing")]
pub(crate) use response::ErrorResponse;
pub use settings::BedrockSettings;

use crate::model::{FallbackModel, Generation, Model, ModelRequest};
use answer::Answer;

/// A model on Amazon Bedrock.
///
/// Each request is repaired before it is sent. If there are repairs, the first event of the answer lists them. A
/// request that cannot be repaired is not sent; the error names the violated rule and its place.
///
/// If Bedrock refuses a request nevertheless, it is sent once more in another form: in one piece, without cache points,
/// or with its tool calls and results as texts. A rule that this library does not know therefore does not silence a
/// call. The change is reported as [`ModelEvent::Repaired`](crate::model::ModelEvent::Repaired), and logged with Bedrock's
/// message. If that happens often, name a model with the right rules in [`BedrockSettings::with_base_model`].
///
/// The model's tool call ids and names are kept if Bedrock accepts them back. All others are renamed, always in the
/// same way.
///
/// An error contains Bedrock's error code, the request id, and Bedrock's message if that cannot quote the request. See
/// [`ModelError`](crate::model::ModelError).
///
/// Reasoning of the model is dropped. Read the answer to its end, not only to the stop: the usage comes after the stop,
/// and the connection can be reused only after the last event.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use aws_sdk_bedrockruntime::Client;
/// use futures_util::StreamExt;
/// use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
/// use verbale::model::{Model, ModelEvent, ModelRequest, StopReason};
/// use verbale::testing::{FakeBedrock, ScriptedReply};
/// use verbale::{BedrockMessage, MessageWrapper, MessagesManager};
///
/// // `turn_client` shows how to connect to Bedrock. This one runs in the process.
/// let bedrock = FakeBedrock::default();
/// bedrock.reply(ScriptedReply::text("It arrives on Friday."));
/// let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
/// let model = BedrockModel::for_turns(client, BedrockSettings::new("eu.anthropic.claude-sonnet-5"));
///
/// let mut manager = MessagesManager::<BedrockMessage>::new();
/// manager.add_user("When does it arrive?")?;
/// let window = manager.messages().map(|message| message.message().clone()).collect();
/// let mut request = ModelRequest::new(window);
/// request.system.push("You answer the phone of a parcel service.".into());
///
/// let mut answer = model.generate(request);
/// let (mut text, mut stop) = (String::new(), None);
/// while let Some(event) = answer.next().await {
///     match event? {
///         ModelEvent::Text(piece) => text.push_str(&piece),
///         ModelEvent::Stop(reason) => stop = Some(reason),
///         _ => {}
///     }
/// }
/// assert_eq!((text.as_str(), stop), ("It arrives on Friday.", Some(StopReason::EndTurn)));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct BedrockModel {
    client: Client,
    settings: Arc<BedrockSettings>,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Turns,
    Summaries,
}

impl BedrockModel {
    /// Creates a model for turns, which streams its answers with `ConverseStream`. Configure the client with
    /// [`turn_client`].
    ///
    /// A model that cannot stream with tools answers requests with tools in one piece.
    pub fn for_turns(client: Client, settings: BedrockSettings) -> Self {
        Self { client, settings: Arc::new(settings), purpose: Purpose::Turns }
    }

    /// Creates a model for summaries, which answers in one piece with `Converse`. Configure the client with
    /// [`summary_client`].
    ///
    /// Its requests have no cache points, because no two of them share a prefix.
    pub fn for_summaries(client: Client, settings: BedrockSettings) -> Self {
        Self { client, settings: Arc::new(settings), purpose: Purpose::Summaries }
    }

    /// Adds another model, region or provider, which is asked if this model fails before its first text or tool call.
    ///
    /// ```
    /// use std::time::Duration;
    /// use aws_sdk_bedrockruntime::{Client, Config, config::Region};
    /// use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
    ///
    /// let in_region = |region| {
    ///     let config = turn_client(Config::builder()).region(Region::new(region)).build();
    ///     Client::from_conf(config)
    /// };
    /// let (frankfurt, virginia) = (in_region("eu-central-1"), in_region("us-east-1"));
    /// let model = BedrockModel::for_turns(frankfurt.clone(), BedrockSettings::new("eu.anthropic.claude-sonnet-5"))
    ///     .or_else(BedrockModel::for_turns(frankfurt, BedrockSettings::new("eu.amazon.nova-lite-v1:0")))
    ///     .or_else(BedrockModel::for_turns(virginia, BedrockSettings::new("us.anthropic.claude-sonnet-5")))
    ///     .with_patience(Duration::from_secs(2));
    /// ```
    pub fn or_else(self, other: impl Model + 'static) -> FallbackModel {
        FallbackModel::new(self).or_else(other)
    }
}

impl Model for BedrockModel {
    fn generate(&self, request: ModelRequest) -> Generation {
        let answer = Answer::new(self.client.clone(), Arc::clone(&self.settings), self.purpose, request);
        let events = unfold(answer, |mut answer| async move {
            let event = answer.next().await?;
            Some((event, answer))
        });
        Box::pin(events.fuse())
    }

    fn id(&self) -> Option<&str> {
        Some(&self.settings.model_id)
    }
}

impl fmt::Debug for BedrockModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BedrockModel").field("settings", &self.settings).field("purpose", &self.purpose).finish()
    }
}
