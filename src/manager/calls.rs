//! [`Calls`]: the tool calls of a conversation and the positions of their results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::manager::MessagesManager;
use crate::manager::error::Refusal;
use crate::message::{Content, Empty, MessageWrapper, Rarely, Role, ToolCall, ToolCallId, ToolName, ToolResult};

/// The tool calls of a conversation by id. Owns the pairing of calls and results.
///
/// A conversation that was never forked has one map. A fork shares the maps of its source as immutable layers. Each layer
/// is less than half as large as the one before it, so a fork copies O(log n) pointers.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Rarely<Maps>);

#[derive(Debug, Clone, Default, PartialEq)]
struct Maps {
    own: BTreeMap<ToolCallId, Entry>,
    /// Oldest first. An entry of a later layer replaces the one in an earlier layer.
    shared: Vec<Layer>,
}

impl Empty for Maps {
    const EMPTY: &'static Self = &Self { own: BTreeMap::new(), shared: Vec::new() };
}

/// A tool call and its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub name: &'a ToolName,
    /// The `seq` of the message with the call.
    pub made: u32,
    /// The `seq` of the message with the result.
    pub result: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    name: ToolName,
    made: u32,
    result: Option<u32>,
}

/// Tool calls that several conversations share, as they were at message `up_to`.
#[derive(Debug, Clone, PartialEq)]
struct Layer {
    calls: Arc<BTreeMap<ToolCallId, Entry>>,
    up_to: u32,
}

impl Entry {
    /// Returns the call as it was at message `seq`, or `None` if it was made later.
    fn up_to(&self, seq: u32) -> Option<Call<'_>> {
        let result = self.result.filter(|result| *result <= seq);
        (self.made <= seq).then_some(Call { name: &self.name, made: self.made, result })
    }
}

impl Layer {
    fn calls(&self) -> impl Iterator<Item = (&ToolCallId, Call<'_>)> {
        self.calls.iter().filter_map(|(id, entry)| Some((id, entry.up_to(self.up_to)?)))
    }

    /// Merges two layers. Copies the entries of `self` only if another conversation uses them.
    fn merged(self, later: &Self) -> Self {
        let mut calls = match Arc::try_unwrap(self.calls) {
            Ok(calls) if self.up_to == u32::MAX => calls,
            Ok(calls) => Self { calls: Arc::new(calls), up_to: self.up_to }.copied(),
            Err(calls) => Self { calls, up_to: self.up_to }.copied(),
        };
        calls.extend(later.copied());
        Self { calls: Arc::new(calls), up_to: u32::MAX }
    }

    fn copied(&self) -> BTreeMap<ToolCallId, Entry> {
        self.calls().map(|(id, call)| (id.clone(), call.into())).collect()
    }
}

impl From<Call<'_>> for Entry {
    fn from(Call { name, made, result }: Call<'_>) -> Self {
        Self { name: name.clone(), made, result }
    }
}

impl Calls {
    #[inline]
    pub fn get(&self, id: &ToolCallId) -> Option<Call<'_>> {
        let own = self.0.own.get(id).and_then(|entry| entry.up_to(u32::MAX));
        own.or_else(|| self.0.shared.iter().rev().find_map(|layer| layer.calls.get(id)?.up_to(layer.up_to)))
    }

    /// Checks that a message of `role` with `contents` can be added.
    #[inline]
    pub fn check(&self, role: Role, contents: &[Content]) -> Result<(), Refusal> {
        // Fast path for the usual message.
        if let [Content::Text(_)] = contents {
            return Ok(());
        }
        for content in contents {
            match content {
                Content::ToolCall(tool_call) => {
                    let id = tool_call.id();
                    if role != Role::Assistant {
                        return Err(Refusal::WrongRole { role, content: ONLY_ASSISTANT });
                    }
                    if self.get(id).is_some() {
                        return Err(Refusal::repeated_call(id));
                    }
                }
                Content::ToolResult(result) => {
                    let id = result.tool_call_id();
                    if role != Role::User {
                        return Err(Refusal::WrongRole { role, content: ONLY_USER });
                    }
                    let call = self.get(id).ok_or_else(|| Refusal::unknown_call(id))?;
                    if call.result.is_some() {
                        return Err(Refusal::SecondResult { id: id.clone() });
                    }
                    if call.name != result.name() {
                        return Err(Refusal::mismatched_result(id));
                    }
                }
                _ => {}
            }
        }
        if let Some(id) = first_repeated(contents, |content| content.as_tool_call().map(ToolCall::id)) {
            return Err(Refusal::repeated_call(id));
        }
        match first_repeated(contents, |content| content.as_result().map(ToolResult::tool_call_id)) {
            Some(id) => Err(Refusal::SecondResult { id: id.clone() }),
            None => Ok(()),
        }
    }

    /// Records the checked contents of message `seq`.
    #[inline]
    pub fn note(&mut self, seq: u32, contents: &[Content]) {
        // Fast path for the usual message.
        if !matches!(contents, [Content::Text(_)]) {
            self.note_each(seq, contents);
        }
    }

    fn note_each(&mut self, seq: u32, contents: &[Content]) {
        for content in contents {
            match content {
                Content::ToolCall(tool_call) => {
                    let call = Entry { name: tool_call.name().clone(), made: seq, result: None };
                    self.0.own.insert(tool_call.id().clone(), call);
                }
                Content::ToolResult(result) => self.set_result(result.tool_call_id(), Some(seq)),
                _ => {}
            }
        }
    }

    /// Like [`check`](Self::check) for a restored message, whose results may answer no open call.
    pub fn check_available(&self, role: Role, contents: &[Content]) -> Result<(), Refusal> {
        self.check(role, contents).or_else(|_| {
            let is_loose =
                |content: &Content| role == Role::User && content.as_result().is_some_and(|it| !self.fits(it));
            let fitting: Vec<Content> = contents.iter().filter(|content| !is_loose(content)).cloned().collect();
            self.check(role, &fitting)
        })
    }

    /// Returns `true` if the result answers an open call.
    fn fits(&self, result: &ToolResult) -> bool {
        self.get(result.tool_call_id()).is_some_and(|call| call.result.is_none() && call.name == result.name())
    }

    /// Like [`note`](Self::note) for a restored message. A result that answers no open call is not noted.
    pub fn note_available(&mut self, seq: u32, contents: &[Content]) {
        for content in contents {
            if content.as_result().is_none_or(|result| self.fits(result)) {
                self.note(seq, std::slice::from_ref(content));
            }
        }
    }

    /// Undoes [`note`](Self::note).
    pub fn forget(&mut self, contents: &[Content]) {
        for content in contents {
            match content {
                Content::ToolCall(tool_call) => drop(self.0.own.remove(tool_call.id())),
                Content::ToolResult(result) => self.set_result(result.tool_call_id(), None),
                _ => {}
            }
        }
    }

    fn set_result(&mut self, id: &ToolCallId, result: Option<u32>) {
        if let Some(entry) = self.0.own.get_mut(id) {
            entry.result = result;
        } else if let Some(call) = self.get(id) {
            let entry = Call { result, ..call }.into();
            self.0.own.insert(id.clone(), entry);
        }
    }

    /// Returns the calls as they are at message `seq`, for a fork. Amortized O(1) over the recorded calls.
    pub fn share(&mut self, seq: u32) -> Self {
        if !self.0.own.is_empty() {
            let Maps { own, shared } = &mut *self.0;
            let mut last = Layer { calls: Arc::new(std::mem::take(own)), up_to: u32::MAX };
            while let Some(before) = shared.pop_if(|before| before.calls.len() <= 2 * last.calls.len()) {
                last = before.merged(&last);
            }
            shared.push(last);
        }
        let shared = self.0.shared.iter();
        let shared = shared.map(|Layer { calls, up_to }| Layer { calls: calls.clone(), up_to: seq.min(*up_to) });
        Self(Maps { own: BTreeMap::new(), shared: shared.collect() }.into())
    }

    pub fn is_open(&self, id: &ToolCallId) -> bool {
        self.get(id).is_some_and(|call| call.result.is_none())
    }

    /// Returns the `seq` of each message with an open call, in order.
    pub fn open(&self) -> BTreeSet<u32> {
        let own = self.0.own.iter().filter_map(|(id, entry)| Some((id, entry.up_to(u32::MAX)?)));
        let calls = own.chain(self.0.shared.iter().flat_map(Layer::calls));
        // A later layer may hold the result of a call in an earlier one.
        calls.filter(|(id, call)| call.result.is_none() && self.is_open(id)).map(|(_, call)| call.made).collect()
    }
}

const ONLY_ASSISTANT: &str = "a tool call; only an assistant message can";
const ONLY_USER: &str = "a tool result; only a user message can";

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns the ids of the tool calls without a result, in order.
    ///
    /// Messages from the first such call on are not summarized. If a tool will never answer, add an error result.
    pub fn open_tool_calls(&self) -> Vec<&ToolCallId> {
        let messages = self.calls.open().into_iter().filter_map(|seq| self.list.get(self.index_of(seq)));
        let tool_calls = messages.flat_map(|wrapper| wrapper.message().contents()).filter_map(Content::as_tool_call);
        tool_calls.map(ToolCall::id).filter(|id| self.calls.is_open(id)).collect()
    }
}

/// Returns an id that occurs twice in the contents. Sorts, because an imported message may have 100,000 calls.
fn first_repeated<'a>(
    contents: &'a [Content],
    id: impl Fn(&'a Content) -> Option<&'a ToolCallId>,
) -> Option<&'a ToolCallId> {
    if contents.len() < 2 {
        return None;
    }
    let mut ids: Vec<&ToolCallId> = contents.iter().filter_map(id).collect();
    ids.sort_unstable();
    ids.iter().zip(ids.iter().skip(1)).find(|(a, b)| a == b).map(|(id, _)| *id)
}
