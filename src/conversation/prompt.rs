//! [`Prompt`]: messages and settings for a conversation, as a value.

use std::fmt;

use super::apply::Speech;
use super::config::{Config, Models};
use super::deltas::Deltas;
use super::error::ConversationError;
use super::run::Run;
use super::shared::Conversation;
use crate::message::{Content, Contents, Draft, Role, Text, Value};
use crate::model::Tool;

/// Messages and settings for a conversation, as a value.
///
/// Each method returns a new value and leaves this one as it is. Clones share their contents. A prompt changes the
/// conversation only when it is [applied](Self::apply). It is then applied completely, or not at all if there is an
/// error. Many prompts can be made from one. A prompt can be applied again; instructions that the conversation already
/// has are not repeated. A prompt can also be a template for other conversations: see [`apply_to`](Self::apply_to).
///
/// Texts are trimmed. A blank message is an error when the prompt is applied. Consecutive messages of one role become
/// one message of the conversation.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use aws_sdk_bedrockruntime::Client;
/// # use verbale::testing::{ScriptedReply, FakeBedrock};
/// # use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
/// use verbale::conversation::{Models, Prompt};
/// # let bedrock = FakeBedrock::default();
/// # for text in ["Rome.", "Paris."] {
/// #     bedrock.reply(ScriptedReply::text(text));
/// # }
/// # let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
/// # let haiku = BedrockModel::for_turns(client, BedrockSettings::new("eu.anthropic.claude-haiku-4-5"));
///
/// let models = Models::default().with("anthropic", "haiku", haiku);
/// let llm = Prompt::new(models).agent("Answer with one word.").config(|config| config.with_max_tool_rounds(2));
/// assert_eq!(llm.request("What is the capital of Italy?").prompt().await?, "Rome.");
///
/// let conversation = llm.conversation(); // now holds the request and its answer
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

enum Delta {
    Message(Draft, Speech),
    Config(Box<Config>),
    /// The value is checked when the prompt is applied.
    Data(Text, Value),
}

impl Prompt {
    /// Creates an empty prompt for a new conversation with a unique id. Prompts that are made from this prompt are for
    /// the same conversation.
    pub fn new(models: Models) -> Self {
        Self::to(Conversation::unnamed(Config::new(models)))
    }

    /// Creates an empty prompt for a conversation.
    pub(super) fn to(conversation: Conversation) -> Self {
        Self { conversation, deltas: Deltas::EMPTY }
    }

    /// Adds instructions for the model, as a system message. All system messages of a conversation, in their order, are
    /// its system prompt.
    #[must_use]
    pub fn agent(&self, text: impl Into<Text>) -> Self {
        self.message(Role::System, text.into(), Speech::Unspoken)
    }

    /// Adds an assistant message, such as a greeting or an example of an answer.
    #[must_use]
    pub fn assistant(&self, text: impl Into<Text>) -> Self {
        self.message(Role::Assistant, text.into(), Speech::Spoken)
    }

    /// Adds background for the model, which nobody said, as a user message with the attribute
    /// [`Hardcoded`](crate::Attribute::Hardcoded). The memory takes no facts from it. The model answers background
    /// alone only if the conversation has no request and no assistant message.
    #[must_use]
    pub fn context(&self, contents: impl Into<Contents>) -> Self {
        self.with(Delta::Message(Draft::background(trimmed(contents.into())), Speech::Unspoken))
    }

    /// Adds a request, as a user message: texts, media and documents, in any order.
    #[must_use]
    pub fn request(&self, contents: impl Into<Contents>) -> Self {
        self.message(Role::User, contents, Speech::Spoken)
    }

    /// Chooses a provider by the name under which it is [registered](Models::with), and so one of its models.
    #[must_use]
    pub fn provider(&self, name: impl Into<Text>) -> Self {
        self.with(Delta::Config(Box::new(Config::of_provider(name.into()))))
    }

    /// Chooses a model by the name under which it is [registered](Models::with).
    #[must_use]
    pub fn model(&self, name: impl Into<Text>) -> Self {
        self.with(Delta::Config(Box::new(Config::of_model(name.into()))))
    }

    /// Offers a tool. It replaces an earlier tool of the same name.
    #[must_use]
    pub fn tool(&self, tool: Tool) -> Self {
        self.config(|config| config.with_tool(tool))
    }

    /// Changes settings. `change` gets an empty configuration; settings that it leaves out stay as they were.
    #[must_use]
    pub fn config(&self, change: impl FnOnce(Config) -> Config) -> Self {
        self.with(Delta::Config(Box::new(change(Config::default()))))
    }

    /// Changes a setting by its key in the table of [`Config`], for settings that come as data. An unknown key and an
    /// invalid value are errors when the prompt is applied.
    #[must_use]
    pub fn set(&self, key: impl Into<Text>, value: impl Into<Value>) -> Self {
        self.with(Delta::Data(key.into(), value.into()))
    }

    /// Returns the conversation that the prompt is for.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Applies the prompt to its conversation, and returns the conversation, ready to be [run](Conversation::run).
    ///
    /// Returns [`Refused`](super::ConversationErrorKind::Refused) if a message is blank or does not fit the
    /// conversation, or if a setting is invalid, and
    /// [`InUse`](super::ConversationErrorKind::InUse) if a live call owns the turns and the prompt has a `request` or
    /// an `assistant` message. An error leaves the conversation as it was.
    pub fn apply(&self) -> Result<Conversation, ConversationError> {
        self.apply_to(&self.conversation)?;
        Ok(self.conversation.clone())
    }

    /// Applies the prompt to another conversation, as a template. A conversation without models gets the models of this
    /// prompt's conversation.
    ///
    /// ```
    /// # use verbale::conversation::{Conversation, Models, Prompt};
    /// # use verbale::log::CallId;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let clerk = Prompt::new(Models::default()).agent("You answer the phone of a bank.");
    /// for id in ["CA1", "CA2"] {
    ///     let call = Conversation::new(CallId::new(id)?);
    ///     clerk.apply_to(&call)?;
    ///     assert_eq!(call.read(|manager| manager.system_messages().count()), 1);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// Returns the errors of [`apply`](Self::apply).
    pub fn apply_to(&self, conversation: &Conversation) -> Result<(), ConversationError> {
        let (mut drafts, mut settings) = (Vec::new(), Config::default());
        for delta in self.deltas.in_order() {
            match delta {
                Delta::Message(draft, speech) => drafts.push((draft.clone(), *speech)),
                Delta::Config(config) => settings = settings.join(Config::clone(config))?,
                Delta::Data(key, value) => settings = settings.join(Config::read(key, value)?)?,
            }
        }
        conversation.apply(drafts, settings, &self.conversation.config())
    }

    /// Applies the prompt, runs the conversation, and returns the final text.
    ///
    /// Dropping the future drops the [run](Run), so [`tokio::time::timeout`] bounds it. Returns the errors of [`apply`](Self::apply) and of [`Run`]. While
    /// another run or a live call owns the turns, nothing is applied.
    pub async fn prompt(&self) -> Result<Text, ConversationError> {
        let mut run = self.begin()?;
        let text = run.final_text().await?;
        run.next().await;
        Ok(text)
    }

    fn begin(&self) -> Result<Run, ConversationError> {
        let run = Run::begin(&self.conversation)?;
        self.apply()?;
        Ok(run)
    }

    fn message(&self, role: Role, contents: impl Into<Contents>, speech: Speech) -> Self {
        self.with(Delta::Message(Draft::new(role, trimmed(contents.into())), speech))
    }

    fn with(&self, delta: Delta) -> Self {
        Self { conversation: self.conversation.clone(), deltas: self.deltas.with(delta) }
    }
}

/// Removes white space around texts. Copies only texts that change.
fn trimmed(contents: Contents) -> Contents {
    let trimmed = |content: Content| match content {
        Content::Text(text) if text.trim().len() < text.len() => text.trim().into(),
        other => other,
    };
    contents.into_iter().map(trimmed).collect()
}

/// Prints the number of messages and settings, not their words.
impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages = self.deltas.in_order().filter(|delta| matches!(delta, Delta::Message(..))).count();
        f.debug_struct("Prompt")
            .field("conversation", self.conversation.id())
            .field("messages", &messages)
            .field("settings", &(self.deltas.in_order().count() - messages))
            .finish()
    }
}
