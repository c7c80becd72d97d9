//! [`MessageBuilder`]: one message, part by part.

use std::sync::Arc;

use ulid::Ulid;

use super::{BuildError, LastStep};
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::message::{
    Content, Decision, Document, Draft, IntoValue, Media, MediaKind, MessageError, Role, RoleHint, Step, Text, ToolCall,
};

/// One message, part by part, in the order in which the parts are added.
///
/// - **Step.** It is of the [next](Self::next_step) step, or [goes on](Self::continue_step) with the last one.
/// - **Role.** A message with tool calls is the assistant's, any other the user's, unless [`role`](Self::role) says who
///   speaks.
/// - **Policy and hint.** None, until [`policy`](Self::policy) and [`role_hint`](Self::role_hint) say otherwise; those of
///   the last message are not taken over. What a model is asked does not depend on them.
/// - **Tool calls** get their ids here: `call_` and a ULID, which no other call has.
///
/// ```
/// use verbale::conversation::{MessageBuilder, ResultBuilder};
/// use verbale::message::Step;
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
/// assert_eq!(steps, [None, Some(Step(1)), Some(Step(1)), Some(Step(1))]);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct MessageBuilder {
    step: Step,
    role: Option<Role>,
    policy: Option<Text>,
    role_hint: Option<RoleHint>,
    contents: Vec<Content>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl MessageBuilder {
    /// A message of the step behind `last`: of a message, a draft, a builder or a [`Step`]. Behind a message of no step,
    /// it is step 1.
    pub fn next_step(last: impl Into<LastStep>) -> Self {
        Self::of_step(last.into().step().next())
    }

    /// A message of the same step as `last`. Of a message of no step, it is step 0.
    pub fn continue_step(last: impl Into<LastStep>) -> Self {
        Self::of_step(last.into().step())
    }

    fn of_step(step: Step) -> Self {
        Self {
            step,
            role: None,
            policy: None,
            role_hint: None,
            contents: Vec::new(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        }
    }

    /// The same with its time and ids from elsewhere.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { clock, ids, ..self }
    }

    /// The step of the message.
    pub fn step(&self) -> Step {
        self.step
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

    /// Adds an image at a URL, with a label for the prompt. See [`Media::from_url`] for what it takes; an image from bytes
    /// is [added](Self::add) as [`Media`].
    ///
    /// Errors: as [`Media::from_url`].
    pub fn add_image(&mut self, hint: impl Into<Text>, url: impl Into<Text>) -> Result<&mut Self, MessageError> {
        self.add_media(MediaKind::Image, hint.into(), url.into())
    }

    /// Adds sound: as [`add_image`](Self::add_image).
    ///
    /// Errors: as there.
    pub fn add_audio(&mut self, hint: impl Into<Text>, url: impl Into<Text>) -> Result<&mut Self, MessageError> {
        self.add_media(MediaKind::Audio, hint.into(), url.into())
    }

    /// Adds a video: as [`add_image`](Self::add_image).
    ///
    /// Errors: as there.
    pub fn add_video(&mut self, hint: impl Into<Text>, url: impl Into<Text>) -> Result<&mut Self, MessageError> {
        self.add_media(MediaKind::Video, hint.into(), url.into())
    }

    /// Adds a document at a URL, with its title.
    ///
    /// Errors: as [`Document::from_url`].
    pub fn add_document(&mut self, title: impl Into<Text>, url: impl Into<Text>) -> Result<&mut Self, MessageError> {
        Ok(self.add(Document::from_url(url)?.with_title(title)))
    }

    fn add_media(&mut self, kind: MediaKind, hint: Text, url: Text) -> Result<&mut Self, MessageError> {
        Ok(self.add(Media::from_url(kind, url)?.with_prompt_hint(hint)))
    }

    /// Adds a tool call with an id of its own, and gives it: run the tool, and answer with a
    /// [`ResultBuilder`](super::ResultBuilder). Until the result is there, no model sees the call.
    ///
    /// Errors: a name that Bedrock refuses; arguments that are no [`Value`](crate::Value).
    pub fn add_tool_call(
        &mut self,
        name: impl Into<Text>,
        arguments: impl IntoValue,
    ) -> Result<ToolCall, MessageError> {
        let id = Ulid(self.ids.next_id(self.clock.now_ms()));
        let tool_call = ToolCall::new(format!("call_{id}"), name, arguments)?;
        self.add(tool_call.clone());
        Ok(tool_call)
    }

    /// The tool call that was added last.
    pub fn last_tool_call(&self) -> Option<&ToolCall> {
        self.contents.iter().rev().find_map(Content::as_tool_call)
    }

    /// Says who speaks, where the parts do not: the assistant in a text, say.
    pub fn role(&mut self, role: Role) -> &mut Self {
        self.role = Some(role);
        self
    }

    /// Says which part of the service makes the message: of a tool call, the one that decided on it.
    pub fn policy(&mut self, name: impl Into<Text>) -> &mut Self {
        self.policy = Some(name.into());
        self
    }

    /// Hints at the role that an adapter may give the message. It is never what the message means.
    pub fn role_hint(&mut self, hint: RoleHint) -> &mut Self {
        self.role_hint = Some(hint);
        self
    }

    /// The message, as far as it is built.
    ///
    /// Errors: it says nothing; its parts are of several roles, or of another than it was [told](Self::role); media or a
    /// document beside a tool call, unless it was told to be the assistant's.
    pub fn to_draft(&self) -> Result<Draft, BuildError> {
        if self.contents.iter().all(Content::is_blank) {
            return Err(BuildError::Empty);
        }
        let role = self.role.unwrap_or_else(|| self.role_of_parts());
        self.check(role)?;
        let decision = Decision { step: Some(self.step), policy: self.policy.clone(), role_hint: self.role_hint };
        Ok(Draft::new(role, self.contents.clone()).with_decision(decision))
    }

    fn role_of_parts(&self) -> Role {
        if self.last_tool_call().is_some() { Role::Assistant } else { Role::User }
    }

    fn check(&self, role: Role) -> Result<(), BuildError> {
        if role == Role::Summary {
            return Err(BuildError::Summary);
        }
        for content in &self.contents {
            let (content, wanted) = match content {
                Content::ToolCall(_) => ("a tool call", Role::Assistant),
                Content::ToolResult(_) => ("the result of a tool call", Role::User),
                _ => continue,
            };
            if role != wanted {
                return Err(BuildError::WrongRole { role, content, wanted });
            }
        }
        match self.contents.iter().find_map(attachment) {
            Some(content) if self.role.is_none() && role == Role::Assistant => {
                Err(BuildError::AttachedToCall { content })
            }
            _ => Ok(()),
        }
    }
}

fn attachment(content: &Content) -> Option<&'static str> {
    match content {
        Content::Media(_) => Some("media"),
        Content::Document(_) => Some("a document"),
        _ => None,
    }
}
