//! [`Prompt`]: what is to be said to a conversation, as a value.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout_at;

use super::apply::Kind;
use super::config::{Config, Models, Setting};
use super::deltas::Deltas;
use super::error::{AskError, PromptError, RunError};
use super::run::Run;
use super::shared::Conversation;
use crate::clock::from_now;
use crate::log::CallId;
use crate::message::{Content, Contents, Document, Draft, Media, MediaKind, Role, Text, Value};

/// What is to be said to a conversation, as a value: messages, and what is to change in its [configuration](super::Config).
///
/// Each method gives a new value and leaves this one as it is; clones and what grew from them share what they have in
/// common. Nothing touches the conversation until a value is [applied](Self::apply), and then all of it or, with an
/// error, none. A value that is applied twice is applied twice, but for its instructions: those that the conversation has
/// already are not added again. So one prompt can begin many questions. It is also a template for any number of
/// conversations: [`apply_to`](Self::apply_to), [`on`](Self::on), [`on_new`](Self::on_new).
///
/// Texts are trimmed. One that says nothing is an error when it is applied. What is said in one role in a row is one message of
/// the conversation, as everywhere.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use aws_sdk_bedrockruntime::Client;
/// # use verbale::testing::{ScriptedReply, FakeBedrock};
/// # use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
/// use verbale::conversation::{Models, Prompt};
/// # let bedrock = FakeBedrock::new();
/// # for text in ["Rome.", "Paris."] {
/// #     bedrock.reply(ScriptedReply::text(text));
/// # }
/// # let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
/// # let haiku = BedrockModel::for_turns(client, BedrockSettings::new("eu.anthropic.claude-haiku-4-5"));
///
/// let models = Models::default().with("anthropic", "haiku", haiku);
/// let llm = Prompt::new(models).agent("Answer with one word.");
/// assert_eq!(llm.request("What is the capital of Italy?").prompt().await?, "Rome.");
///
/// let conversation = llm.conversation(); // the request and its answer are in it
/// let continued = conversation.continuation().request("And of France?");
/// assert_eq!(continued.prompt().await?, "Paris.");
/// assert_eq!(conversation.read(|manager| manager.messages().count()), 4);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Prompt {
    conversation: Conversation,
    deltas: Deltas<Delta>,
}

/// What a prompt says: messages, and settings.
type Said = (Vec<(Draft, Kind)>, Vec<Setting>);

pub(super) enum Delta {
    Message(Draft, Kind),
    Media {
        wanted: MediaKind,
        media: Media,
    },
    Setting(Setting),
    /// It is read when it is applied.
    Data(Text, Value),
}

impl Prompt {
    /// An empty prompt to a conversation of its own, with an id that no other has. What grows from it is for that one
    /// conversation.
    pub fn new(models: Models) -> Self {
        Self::to(Conversation::unnamed(Config::new(models)))
    }

    /// An empty prompt to a conversation: its [continuation](Conversation::continuation).
    pub(super) fn to(conversation: Conversation) -> Self {
        Self { conversation, deltas: Deltas::EMPTY }
    }

    /// Says what the model is to do: system instructions, which are in the conversation as a supervisor message. All that a
    /// conversation has are its system prompt, in their order.
    #[must_use]
    pub fn agent(&self, text: impl Into<Text>) -> Self {
        self.message(Role::System, text.into(), Kind::Beside)
    }

    /// Says something in the assistant's name, such as a greeting, or an example of an answer.
    #[must_use]
    pub fn assistant(&self, text: impl Into<Text>) -> Self {
        self.message(Role::Assistant, text.into(), Kind::Said)
    }

    /// Says what the model should know to answer: a user message.
    #[must_use]
    pub fn context(&self, contents: impl Into<Contents>) -> Self {
        self.message(Role::User, contents, Kind::Beside)
    }

    /// Says what is asked for: a user message. It may have images and documents between its texts.
    #[must_use]
    pub fn request(&self, contents: impl Into<Contents>) -> Self {
        self.message(Role::User, contents, Kind::Said)
    }

    /// Shows an image.
    #[must_use]
    pub fn image(&self, image: Media) -> Self {
        self.with(Delta::Media { wanted: MediaKind::Image, media: image })
    }

    /// Plays sound.
    #[must_use]
    pub fn audio(&self, audio: Media) -> Self {
        self.with(Delta::Media { wanted: MediaKind::Audio, media: audio })
    }

    /// Gives a document to read.
    #[must_use]
    pub fn document(&self, document: Document) -> Self {
        self.message(Role::User, document, Kind::Said)
    }

    /// The conversation that it is for.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Applies it: all of it, at one moment. Gives the conversation, to be [run](Conversation::run).
    ///
    /// Errors, which leave the conversation as it was: a message that says nothing, or that does not fit the conversation
    /// otherwise; a contradiction, an unknown key or name, a value of the wrong kind in what is said about the
    /// [configuration](super::Config).
    pub fn apply(&self) -> Result<Conversation, PromptError> {
        self.apply_to(&self.conversation)?;
        Ok(self.conversation.clone())
    }

    /// Applies it to another conversation, as a template: its messages and settings, at one moment. A conversation without
    /// models gets those of this prompt.
    ///
    /// ```
    /// # use verbale::conversation::{Conversation, Models, Prompt};
    /// # use verbale::log::CallId;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let clerk = Prompt::new(Models::default()).agent("You answer the phone of a bank.").max_tool_rounds(2);
    /// for id in ["CA1", "CA2"] {
    ///     let call = Conversation::new(CallId::new(id)?);
    ///     clerk.apply_to(&call)?;
    ///     assert_eq!(call.config().max_tool_rounds(), 2);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// Errors: as [`apply`](Self::apply).
    pub fn apply_to(&self, conversation: &Conversation) -> Result<(), PromptError> {
        let (drafts, settings) = self.read()?;
        if conversation.id() != self.conversation.id() {
            conversation.set_config(conversation.config().or_models_of(&self.conversation.config()));
        }
        conversation.apply(drafts, settings)
    }

    /// The same prompt to another conversation: a template to go on from.
    #[must_use]
    pub fn on(&self, conversation: &Conversation) -> Self {
        Self { conversation: conversation.clone(), deltas: self.deltas.clone() }
    }

    /// The same prompt to a new conversation with this id and the configuration of this prompt's conversation.
    #[must_use]
    pub fn on_new(&self, id: CallId) -> Self {
        self.on(&Conversation::new(id).with_config(self.conversation.config()))
    }

    fn read(&self) -> Result<Said, PromptError> {
        let (mut drafts, mut settings) = (Vec::new(), Vec::new());
        for delta in self.deltas.in_order() {
            match delta {
                Delta::Message(draft, kind) => drafts.push((draft.clone(), *kind)),
                Delta::Media { wanted, media } if media.kind == *wanted => {
                    drafts.push((Draft::new(Role::User, media.clone()), Kind::Said));
                }
                Delta::Media { wanted, media } => {
                    return Err(PromptError::WrongMedia { index: drafts.len(), wanted: *wanted, given: media.kind });
                }
                Delta::Setting(setting) => settings.push(setting.clone()),
                Delta::Data(key, value) => settings.push(Setting::read(key, value)?),
            }
        }
        Ok((drafts, settings))
    }

    /// Applies it, runs the conversation and gives the final text.
    ///
    /// Dropping this is dropping the [run](Run). Errors: as [`apply`](Self::apply) and [`Run`]; while another run goes on,
    /// nothing is applied.
    pub async fn prompt(&self) -> Result<Text, AskError> {
        let mut run = self.begin()?;
        let text = run.final_text().await?;
        run.next().await;
        Ok(text)
    }

    /// The same, within a time. Errors: also [`TimedOut`](RunError::TimedOut); what was said by then stays.
    pub async fn prompt_within(&self, after: Duration) -> Result<Text, AskError> {
        let until = from_now(after);
        let mut run = self.begin()?;
        let text = timeout_at(until, run.final_text()).await.map_err(|_| RunError::TimedOut { after })??;
        // The text is there: whether the model ends in time is no matter.
        let _ = timeout_at(until, run.next()).await;
        Ok(text)
    }

    fn begin(&self) -> Result<Run, AskError> {
        let run = Run::begin(&self.conversation)?;
        self.apply()?;
        Ok(run)
    }

    fn message(&self, role: Role, contents: impl Into<Contents>, kind: Kind) -> Self {
        self.with(Delta::Message(Draft::new(role, trimmed(contents.into())), kind))
    }

    pub(super) fn with(&self, delta: Delta) -> Self {
        Self { conversation: self.conversation.clone(), deltas: self.deltas.with(delta) }
    }
}

/// Texts without white space around them; one that has none is not copied.
fn trimmed(contents: Contents) -> Contents {
    let trimmed = |content: Content| match content {
        Content::Text(text) if text.trim().len() < text.len() => text.trim().into(),
        other => other,
    };
    contents.into_iter().map(trimmed).collect()
}

/// How much it says, not what.
impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_message = |delta: &&Delta| matches!(delta, Delta::Message(..) | Delta::Media { .. });
        let messages = self.deltas.in_order().filter(is_message).count();
        f.debug_struct("Prompt")
            .field("conversation", self.conversation.id())
            .field("messages", &messages)
            .field("settings", &(self.deltas.in_order().count() - messages))
            .finish()
    }
}
