//! [`ResultBuilder`]: the message with the result of a tool call.

use super::LastStep;
use crate::message::{
    Content, Decision, Draft, Message, MessageError, ResultContents, Role, RoleHint, Text, ToolCall, ToolCallError,
    ToolResult,
};

/// The message with the result of one tool call: the user's, of the call's step, with the call's id and tool, whatever
/// becomes of it.
///
/// Its policy is the tool that ran; where whoever runs the tools makes the result, because a tool is not known, its
/// arguments are wrong, or it did not come to an end, say [`policy`](Self::policy)`(ResultBuilder::RUNTIME)`. Its hint is
/// [`RoleHint::Tool`].
///
/// ```
/// use verbale::conversation::{MessageBuilder, ResultBuilder};
/// use verbale::message::Step;
/// use verbale::{MessagesManager, PlainMessage, Value};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut asks = MessageBuilder::next_step(Step(3));
/// let call = asks.add_tool_call("get_parcel", Value::map([("number", 17)])?)?;
/// let answer = ResultBuilder::response_to(&call);
/// let late = answer.policy(ResultBuilder::RUNTIME).error("Timeout", "no answer within 5 s", true)?;
///
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_all([asks.to_draft()?, late]).map_err(|(_, error)| error)?;
/// assert_eq!(manager.messages().count(), 3); // a fake user message is in front
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ResultBuilder {
    call: ToolCall,
    decision: Decision,
}

impl ResultBuilder {
    /// The policy of what whoever runs the tools says in place of a tool.
    pub const RUNTIME: &str = "runtime";

    /// The answer to a call. It is of the step of the call, which is found when the draft is added.
    pub fn response_to(call: &ToolCall) -> Self {
        let policy = Some(call.name().as_str().into());
        let decision = Decision { step: None, policy, role_hint: Some(RoleHint::Tool) };
        Self { call: call.clone(), decision }
    }

    /// The same, of this step: of a message, a draft, a builder, or by its number.
    #[must_use]
    pub fn of_step(mut self, step: impl Into<LastStep>) -> Self {
        self.decision.step = Some(step.into().step());
        self
    }

    /// The answers to the calls of a message, one each, in their order.
    pub fn responses_to(message: &Message) -> impl Iterator<Item = Self> {
        let calls = message.contents().iter().filter_map(Content::as_tool_call);
        calls.map(move |call| Self::response_to(call).of_step(message))
    }

    /// The call that it answers.
    pub fn tool_call(&self) -> &ToolCall {
        &self.call
    }

    /// Says which part of the service made the result, where that is not the tool.
    #[must_use]
    pub fn policy(mut self, name: impl Into<Text>) -> Self {
        self.decision.policy = Some(name.into());
        self
    }

    /// The draft of what the tool gave back, as [`ToolCall::success`] takes it.
    pub fn success(self, contents: impl Into<ResultContents>) -> Draft {
        let result = self.call.success(contents);
        self.draft(result)
    }

    /// Why it failed, with its type, such as `Timeout`, and whether trying again may help.
    ///
    /// Errors: a blank message.
    pub fn error(
        self,
        error_type: impl Into<Text>,
        message: impl Into<Text>,
        retryable: bool,
    ) -> Result<Draft, MessageError> {
        let error = ToolCallError::new(message)?.with_type(error_type).with_retryable(retryable);
        let result = self.call.failure(error);
        Ok(self.draft(result))
    }

    fn draft(self, result: ToolResult) -> Draft {
        Draft::new(Role::User, result).with_decision(self.decision)
    }
}
