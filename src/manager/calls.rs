//! [`Calls`]: which tool calls there are, and where their results stand.

use std::collections::{BTreeSet, HashMap};

use crate::manager::error::ManagerError;
use crate::message::{Content, InvocationId, Role, ToolName};

/// The tool calls of a conversation, by invocation id. The one home of their pairing.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(HashMap<InvocationId, Call>);

#[derive(Debug, Clone)]
pub(super) struct Call {
    name: ToolName,
    /// The `seq` of the message with the result.
    pub result: Option<u32>,
    /// The `seq` of the message with the call.
    pub made: u32,
}

impl Call {
    pub fn name(&self) -> &ToolName {
        &self.name
    }
}

impl Calls {
    pub fn reserve(&mut self, calls: usize) {
        self.0.reserve(calls);
    }

    pub fn get(&self, id: &InvocationId) -> Option<&Call> {
        self.0.get(id)
    }

    /// Whether a message of `role` with `contents` can be added.
    #[inline]
    pub fn check(&self, role: Role, contents: &[Content]) -> Result<(), ManagerError> {
        // The usual message.
        if let [Content::Text(_)] = contents {
            return Ok(());
        }
        for (index, content) in contents.iter().enumerate() {
            let before = contents.get(..index).unwrap_or_default();
            match content {
                Content::Invocation(invocation) => {
                    let id = invocation.id();
                    if role != Role::Assistant {
                        return Err(ManagerError::WrongRole { role, content: "a tool call" });
                    }
                    if self.0.contains_key(id) || before.iter().filter_map(Content::as_invocation).any(|b| b.id() == id)
                    {
                        return Err(ManagerError::RepeatedInvocation { id: id.clone() });
                    }
                }
                Content::InvocationResult(result) => {
                    let id = result.invocation_id();
                    if role != Role::User {
                        return Err(ManagerError::WrongRole { role, content: "the result of a tool call" });
                    }
                    let call = self.0.get(id).ok_or_else(|| ManagerError::UnknownInvocation { id: id.clone() })?;
                    if call.result.is_some()
                        || before.iter().filter_map(Content::as_result).any(|b| b.invocation_id() == id)
                    {
                        return Err(ManagerError::SecondResult { id: id.clone() });
                    }
                    if call.name != *result.name() {
                        return Err(ManagerError::MismatchedResult { id: id.clone() });
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes note of checked contents that stand in message `seq`.
    #[inline]
    pub fn note(&mut self, seq: u32, contents: &[Content]) {
        for content in contents {
            match content {
                Content::Invocation(invocation) => {
                    let call = Call { name: invocation.name().clone(), result: None, made: seq };
                    self.0.insert(invocation.id().clone(), call);
                }
                Content::InvocationResult(result) => {
                    if let Some(call) = self.0.get_mut(result.invocation_id()) {
                        call.result = Some(seq);
                    }
                }
                _ => {}
            }
        }
    }

    pub fn is_open(&self, id: &InvocationId) -> bool {
        self.0.get(id).is_some_and(|call| call.result.is_none())
    }

    /// The `seq` of the messages with calls without a result, in order.
    pub fn open(&self) -> BTreeSet<u32> {
        self.0.values().filter(|call| call.result.is_none()).map(|call| call.made).collect()
    }
}
