//! [`MessageBuilder`]: builds one message part by part.

use std::sync::Arc;

use ulid::Ulid;

use super::LastStep;
use super::error::BuildProblem;
use crate::clock::{Clock, IdSource, Sources};
use crate::conversation::ConversationError;
use crate::message::{Content, Decision, Draft, Media, MediaKind, MessageError, Role, RoleHint, Text, ToolCall, Value};

/// Builds one message. Parts keep the order in which they are added.
///
/// - **Step.** All messages of one decision of the service share a number. The message belongs to the
///   [next](Self::next_step) step or [continues](Self::continue_step) the last one.
/// - **Role.** A message with tool calls has the role assistant, any other the role user. [`role`](Self::role)
///   overrides this.
/// - **Policy and hint.** [`policy`](Self::policy) and [`role_hint`](Self::role_hint) set them; the builder does not
///   copy those of the last message. Neither changes the request to the model.
/// - **Tool calls** get a unique id: `call_` and a ULID.
/// - **Media and documents** are shown to models only in messages of the user. In a message with a tool call they
///   belong to the assistant, and models get only their labels. For attachments that the model must see, build a
///   separate message.
///
/// ```
/// use verbale::conversation::{MessageBuilder, ResultBuilder};
/// use verbale::{MessagesManager, PlainMessage, Value};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("What would I look like in that dress?")?;
///
/// let mut asks = MessageBuilder::next_step(manager.meta_messages().last());
/// asks.policy("stylist").add_text("One moment.");
/// let call = asks.add_tool_call("find_dress", Value::map([("colour", "blue")])?)?;
/// manager.add(asks.to_draft()?)?;
/// let found = ResultBuilder::response_to(&call).success("two pictures");
/// manager.add(found)?;
///
/// let mut shows = MessageBuilder::continue_step(&asks);
/// shows.add_image("the girl with a hat", "s3://pictures/1.png")?;
/// shows.add_image("the dress", "s3://pictures/2.png")?;
/// shows.add_text("Put the dress on the girl.");
/// manager.add(shows.to_draft()?)?;
///
/// let records = manager.records();
/// let steps: Vec<_> = records.iter().map(|record| record.metadata().decision().and_then(|of| of.step)).collect();
/// assert_eq!(steps, [None, Some(1), Some(1), Some(1)]);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct MessageBuilder {
    pub(super) step: u32,
    role: Option<Role>,
    policy: Option<Text>,
    role_hint: Option<RoleHint>,
    contents: Vec<Content>,
    sources: Arc<Sources>,
}

impl MessageBuilder {
    /// Starts a message of the step after `last`, which is a message, a draft, a builder or a number. After a message
    /// without a step, it is step 1.
    pub fn next_step(last: impl Into<LastStep>) -> Self {
        Self::of_step(last.into().0.saturating_add(1))
    }

    /// Starts a message of the same step as `last`. After a message without a step, it is step 0.
    pub fn continue_step(last: impl Into<LastStep>) -> Self {
        Self::of_step(last.into().0)
    }

    fn of_step(step: u32) -> Self {
        let sources = Sources::system();
        Self { step, role: None, policy: None, role_hint: None, contents: Vec::new(), sources }
    }

    /// Sets the source of time and ids for tool calls.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { sources: Arc::new(Sources { clock, ids }), ..self }
    }

    /// Adds any content.
    pub fn add(&mut self, content: impl Into<Content>) -> &mut Self {
        self.contents.push(content.into());
        self
    }

    /// Adds a text.
    pub fn add_text(&mut self, text: impl Into<Text>) -> &mut Self {
        self.add(Content::Text(text.into()))
    }

    /// Adds an image at a URL, with a label for the prompt. [`add`](Self::add) takes other [`Media`].
    ///
    /// Returns the errors of [`Media::from_url`].
    pub fn add_image(&mut self, hint: impl Into<Text>, url: impl Into<Text>) -> Result<&mut Self, MessageError> {
        Ok(self.add(Media::from_url(MediaKind::Image, url)?.with_label(hint)))
    }

    /// Adds a tool call with a unique id and returns it. Run the tool, and answer with a
    /// [`ResultBuilder`](super::ResultBuilder). Models see the call once it has a result.
    ///
    /// Returns [`MessageError`] if Bedrock does not accept the name, or if the arguments cannot be a
    /// [`Value`](crate::Value).
    pub fn add_tool_call(
        &mut self,
        name: impl Into<Text>,
        arguments: impl TryInto<Value, Error: Into<MessageError>>,
    ) -> Result<ToolCall, MessageError> {
        let id = Ulid(self.sources.ids.next_id(self.sources.clock.now_ms()));
        let tool_call = ToolCall::new(format!("call_{id}"), name, arguments)?;
        self.add(tool_call.clone());
        Ok(tool_call)
    }

    /// Sets the role, for instance for a text of the assistant.
    pub fn role(&mut self, role: Role) -> &mut Self {
        self.role = Some(role);
        self
    }

    /// Sets the policy: the part of the service that decided on the message.
    pub fn policy(&mut self, name: impl Into<Text>) -> &mut Self {
        self.policy = Some(name.into());
        self
    }

    /// Sets the role that an adapter to a provider may give the message. The message keeps its own role.
    pub fn role_hint(&mut self, hint: RoleHint) -> &mut Self {
        self.role_hint = Some(hint);
        self
    }

    /// Returns the message with the parts so far.
    ///
    /// Returns [`Refused`] if the message is blank, or if its parts belong to several roles or not to its
    /// [role](Self::role).
    ///
    /// [`Refused`]: crate::conversation::ConversationErrorKind::Refused
    pub fn to_draft(&self) -> Result<Draft, ConversationError> {
        if self.contents.iter().all(Content::is_blank) {
            return Err(BuildProblem::Empty.into());
        }
        let role = self.role.unwrap_or_else(|| self.role_of_parts());
        self.check(role)?;
        let decision = Decision { step: Some(self.step), decided_by: self.policy.clone(), role_hint: self.role_hint };
        Ok(Draft::new(role, self.contents.clone()).with_decision(decision))
    }

    fn role_of_parts(&self) -> Role {
        if self.contents.iter().any(|content| content.as_tool_call().is_some()) { Role::Assistant } else { Role::User }
    }

    fn check(&self, role: Role) -> Result<(), BuildProblem> {
        if role == Role::Summary {
            return Err(BuildProblem::Summary);
        }
        for content in &self.contents {
            let (content, wanted) = match content {
                Content::ToolCall(_) => ("a tool call", Role::Assistant),
                Content::ToolResult(_) => ("the result of a tool call", Role::User),
                _ => continue,
            };
            if role != wanted {
                return Err(BuildProblem::WrongRole { role, content, wanted });
            }
        }
        Ok(())
    }
}
