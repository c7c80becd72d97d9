//! [`Calls`]: which tool calls there are, and where their results stand.

use std::collections::{BTreeSet, HashMap};

use crate::manager::MessagesManager;
use crate::manager::error::ManagerError;
use crate::message::{Content, Invocation, InvocationId, InvocationResult, MessageWrapper, Role, ToolName};

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
        for content in contents {
            match content {
                Content::Invocation(invocation) => {
                    let id = invocation.id();
                    if role != Role::Assistant {
                        return Err(ManagerError::WrongRole { role, content: "a tool call" });
                    }
                    if self.0.contains_key(id) {
                        return Err(ManagerError::RepeatedInvocation { id: id.clone() });
                    }
                }
                Content::InvocationResult(result) => {
                    let id = result.invocation_id();
                    if role != Role::User {
                        return Err(ManagerError::WrongRole { role, content: "the result of a tool call" });
                    }
                    let call = self.0.get(id).ok_or_else(|| ManagerError::UnknownInvocation { id: id.clone() })?;
                    if call.result.is_some() {
                        return Err(ManagerError::SecondResult { id: id.clone() });
                    }
                    if call.name != *result.name() {
                        return Err(ManagerError::MismatchedResult { id: id.clone() });
                    }
                }
                _ => {}
            }
        }
        if let Some(id) = twice(contents, |content| content.as_invocation().map(Invocation::id)) {
            return Err(ManagerError::RepeatedInvocation { id: id.clone() });
        }
        match twice(contents, |content| content.as_result().map(InvocationResult::invocation_id)) {
            Some(id) => Err(ManagerError::SecondResult { id: id.clone() }),
            None => Ok(()),
        }
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

    /// The calls as they stand up to message `seq`.
    pub fn up_to(&self, seq: u32) -> Self {
        let calls = self.0.iter().filter(|(_, call)| call.made <= seq);
        let as_of = |call: &Call| Call { result: call.result.filter(|result| *result <= seq), ..call.clone() };
        Self(calls.map(|(id, call)| (id.clone(), as_of(call))).collect())
    }

    pub fn is_open(&self, id: &InvocationId) -> bool {
        self.0.get(id).is_some_and(|call| call.result.is_none())
    }

    /// The `seq` of the messages with calls without a result, in order.
    pub fn open(&self) -> BTreeSet<u32> {
        self.0.values().filter(|call| call.result.is_none()).map(|call| call.made).collect()
    }
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// The tool calls that have no result yet, in order. While one is open, nothing from it on is summarised: when a tool will
    /// never answer, add an error result.
    pub fn open_invocations(&self) -> Vec<&InvocationId> {
        let messages = self.calls.open().into_iter().filter_map(|seq| self.list.get(self.index_of(seq)));
        let invocations = messages.flat_map(|wrapper| wrapper.message().contents()).filter_map(Content::as_invocation);
        invocations.map(Invocation::id).filter(|id| self.calls.is_open(id)).collect()
    }
}

/// An id that stands twice among the contents. Sorted, for an imported message may have a hundred thousand calls.
fn twice<'a>(
    contents: &'a [Content],
    id: impl Fn(&'a Content) -> Option<&'a InvocationId>,
) -> Option<&'a InvocationId> {
    if contents.len() < 2 {
        return None;
    }
    let mut ids: Vec<&InvocationId> = contents.iter().filter_map(id).collect();
    ids.sort_unstable();
    ids.iter().zip(ids.iter().skip(1)).find(|(a, b)| a == b).map(|(id, _)| *id)
}
