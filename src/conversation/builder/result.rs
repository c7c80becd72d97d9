//! [`ResultBuilder`]: builds the message with the result of a tool call.

use super::LastStep;
use crate::message::{
    Content, Decision, Draft, Message, ResultContents, Role, RoleHint, Text, ToolCall, ToolError, ToolResult,
};

/// Builds the message with the result of one tool call: a user message of the call's step, with the call's id and tool.
///
/// The policy is the name of the tool, and the hint is [`RoleHint::Tool`]. If the code that runs the tools makes the
/// result in place of the tool, because the tool is unknown, its arguments are invalid, or it did not finish, set
/// [`policy`](Self::policy)`(ResultBuilder::RUNTIME)`.
///
/// ```
/// use verbale::conversation::{MessageBuilder, ResultBuilder};
/// use verbale::{MessagesManager, PlainMessage, Value};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut asks = MessageBuilder::next_step(3);
/// let call = asks.add_tool_call("get_parcel", Value::map([("number", 17)])?)?;
/// let answer = ResultBuilder::response_to(&call);
/// let late = answer.policy(ResultBuilder::RUNTIME).error("Timeout", "no answer within 5 s", true);
///
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_all([asks.to_draft()?, late]).map_err(|(_, error)| error)?;
/// assert_eq!(manager.messages().count(), 3); // with a fake user message first
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ResultBuilder {
    call: ToolCall,
    decision: Decision,
}

impl ResultBuilder {
    /// The policy of a result that a tool did not return itself.
    pub const RUNTIME: &str = "runtime";

    /// Starts the result of a call. The manager gives it the step of the call when it adds the draft.
    pub fn response_to(call: &ToolCall) -> Self {
        let policy = Some(call.name().as_str().into());
        let decision = Decision { step: None, decided_by: policy, role_hint: Some(RoleHint::Tool) };
        Self { call: call.clone(), decision }
    }

    /// Starts the results of all calls of a message, in their order.
    pub fn responses_to(message: &Message) -> impl Iterator<Item = Self> {
        let calls = message.contents().iter().filter_map(Content::as_tool_call);
        calls.map(move |call| Self::response_to(call).of_step(message))
    }

    /// Sets the step: a number, or the step of a message, a draft, or a builder.
    #[must_use]
    pub fn of_step(mut self, step: impl Into<LastStep>) -> Self {
        self.decision.step = Some(step.into().0);
        self
    }

    /// Sets the policy: the part of the service that made the result, if it is not the tool.
    #[must_use]
    pub fn policy(mut self, name: impl Into<Text>) -> Self {
        self.decision.decided_by = Some(name.into());
        self
    }

    /// Returns the message with a successful result: `contents` is the output of the tool. See [`ToolCall::success`].
    pub fn success(self, contents: impl Into<ResultContents>) -> Draft {
        let result = self.call.success(contents);
        self.draft(result)
    }

    /// Returns the message with an error: its type, such as `Timeout`, its text, and whether a retry may help.
    pub fn error(self, error_type: impl Into<Text>, message: impl Into<Text>, retryable: bool) -> Draft {
        let error = ToolError::new(message).with_type(error_type).with_retryable(retryable);
        let result = self.call.failure(error);
        self.draft(result)
    }

    fn draft(self, result: ToolResult) -> Draft {
        Draft::new(Role::User, result).with_decision(self.decision)
    }
}
