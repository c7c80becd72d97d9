//! [`BedrockModel`]: the port to a model, over `aws-sdk-bedrockruntime`.
//!
//! Owns how a model is asked: the request and its repair, cache points, deadlines, the events of the answer, and what an
//! error means. Never keeps anything between two requests, and spawns nothing.

mod answer;
mod cache;
mod config;
mod failure;
mod formats;
mod inference;
mod prepare;
mod reading;
mod refusal;
mod repair;
mod send;
mod settings;
mod stable;

use std::fmt;
use std::sync::Arc;

use aws_sdk_bedrockruntime::Client;
use futures_util::StreamExt;
use futures_util::stream::unfold;

pub use config::{CONNECT_TIMEOUT, SUMMARY_TIMEOUT, TURN_ATTEMPTS, TURN_BACKOFF, summary_client, turn_client};
pub use repair::repair;
pub use settings::{BedrockSettings, Deadlines};

use crate::model::{Generation, Model, ModelRequest};
use answer::Answer;

/// A model at Amazon Bedrock.
///
/// Each request is mended before it is sent: what was changed is the first event of the answer, and what cannot be mended
/// is an error that names the rule and the place. Errors tell Bedrock's code, the id of the request and, where Bedrock
/// cannot quote the request in it, its message; see [`ModelError`](crate::model::ModelError).
///
/// Reasoning is neither told nor kept. Read the answer to its end: the last event behind the stop is the usage, and a
/// connection that is left before it cannot be used again.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use aws_sdk_bedrockruntime::Client;
/// use futures_util::StreamExt;
/// use verbale::testing::{ScriptedReply, FakeBedrock};
/// use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
/// use verbale::model::{Model, ModelEvent, ModelRequest, StopReason};
/// use verbale::{BedrockMessage, MessageWrapper, MessagesManager};
///
/// // A Bedrock in this process; `turn_client` shows how the real one is reached.
/// let bedrock = FakeBedrock::new();
/// bedrock.reply(ScriptedReply::text("It arrives on Friday."));
/// let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
/// let model = BedrockModel::for_turns(client, BedrockSettings::new("eu.anthropic.claude-sonnet-5"));
///
/// let mut manager = MessagesManager::<BedrockMessage>::new();
/// manager.add_user("When does it arrive?")?;
/// let mut request = ModelRequest::new(manager.messages().map(|message| message.message().clone()).collect());
/// request.system = vec!["You answer the phone of a parcel service.".into()];
///
/// let mut answer = model.generate(request);
/// let (mut said, mut stop) = (String::new(), None);
/// while let Some(event) = answer.next().await {
///     match event? {
///         ModelEvent::Text(piece) => said.push_str(&piece),
///         ModelEvent::Stop(reason) => stop = Some(reason),
///         _ => {}
///     }
/// }
/// assert_eq!((said.as_str(), stop), ("It arrives on Friday.", Some(StopReason::EndTurn)));
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
    /// For what is spoken: the answer is streamed with `ConverseStream`. The client should be set with [`turn_client`].
    ///
    /// A model that streams no answer to a request with tools gives such an answer as a whole.
    pub fn for_turns(client: Client, settings: BedrockSettings) -> Self {
        Self { client, settings: Arc::new(settings), purpose: Purpose::Turns }
    }

    /// For summaries: the answer comes as a whole from `Converse`. The client should be set with [`summary_client`].
    ///
    /// Cache points are left out, for no other request begins like this one.
    pub fn for_summaries(client: Client, settings: BedrockSettings) -> Self {
        Self { client, settings: Arc::new(settings), purpose: Purpose::Summaries }
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
        Some(self.settings.model_id())
    }
}

impl fmt::Debug for BedrockModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BedrockModel").field("settings", &self.settings).field("purpose", &self.purpose).finish()
    }
}
