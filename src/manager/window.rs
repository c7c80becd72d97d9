//! [`Window`]: what the model gets now.

use std::borrow::Cow;
use std::iter::FusedIterator;
use std::ops::Range;

use super::MessagesManager;
use crate::message::{Attribute, Content, Contents, Message, MessageWrapper, PLACEHOLDER, Role, ToolResult};

/// What the model gets now: user and assistant messages in turn, a user message first.
///
/// The list behind it keeps what happened; the window is what a provider takes. It is computed while it is read, and
/// lends the messages that stand in the list just so. It repairs the others:
///
/// - Of an assistant message the model sees what was heard.
/// - A tool call is in the window once its result is in the list. Until then it is left out, and the text around it
///   stays: no result is made up.
/// - Results open the user message behind the call. A result that came later, when the conversation had gone on,
///   is moved there; where it came, the message says `...` if it holds nothing else.
/// - The result of a call that a summary covers is left out, and the message says `...` if it holds nothing else. (A
///   summary covers no open call. But a log may lose a result that the summary behind it was made with.)
/// - Messages of one role that come to stand side by side, as around an assistant message of which nothing was heard,
///   are one, marked [`Attribute::Merged`]; a fake is left out where it is not needed.
#[derive(Debug, Clone)]
pub struct Window<'a, W> {
    manager: &'a MessagesManager<W>,
    // The index in the list from which to go on.
    next: usize,
    // The indices of the assistant message that came last, whose calls the next user message answers.
    asked: Range<usize>,
}

/// Messages of one role that are one in the window, by their indices in the list.
struct Group {
    first: usize,
    last: usize,
    /// How many between the two are in the window.
    visible: usize,
    role: Role,
}

/// A message of the window, by where it stands in the list.
pub(super) struct ShownMessage {
    /// The index behind the last message of the list that is part of it.
    pub end: usize,
    /// The caller says something in it: more than results of tools, and no fake.
    pub starts_turn: bool,
    /// It answers tool calls of the message before.
    pub answers_call: bool,
    /// The number of turns that start in the window up to here.
    pub turns: usize,
}

impl<'a, W: MessageWrapper> Window<'a, W> {
    pub(super) fn new(manager: &'a MessagesManager<W>) -> Self {
        Self { manager, next: manager.window_start, asked: 0..0 }
    }

    fn message(&self, index: usize) -> Option<&'a Message> {
        self.manager.list.get(index).map(W::message)
    }

    /// Where the messages that are left stand in the list.
    pub(super) fn places(mut self) -> impl Iterator<Item = ShownMessage> {
        let mut turns = 0;
        std::iter::from_fn(move || {
            let group = self.next_group()?;
            let is_user = group.role == Role::User;
            let is_call = |content: &Content| content.as_tool_call().is_some() && self.manager.is_shown(content);
            let asked = || self.manager.list.range(self.asked.clone());
            let answers_call = is_user && asked().any(|wrapper| wrapper.contents().iter().any(is_call));
            let says = |message: &Message| message.contents().iter().any(is_said);
            let starts_turn = is_user && self.members(&group).any(says);
            turns += usize::from(starts_turn);
            self.set_asked(&group);
            Some(ShownMessage { end: group.last + 1, starts_turn, answers_call, turns })
        })
    }

    /// The next messages of one role.
    #[inline]
    fn next_group(&mut self) -> Option<Group> {
        let mut group: Option<Group> = None;
        while let Some(message) = self.message(self.next) {
            let index = self.next;
            self.next += 1;
            if !self.manager.is_visible(message) {
                continue;
            }
            match &mut group {
                Some(group) if group.role != message.role() => {
                    self.next = index;
                    return Some(Group { ..*group });
                }
                // A fake is no part of a message that somebody said.
                Some(group) if self.message(group.first).is_some_and(Message::is_fake) => {
                    (group.first, group.last) = (index, index);
                }
                Some(group) => {
                    group.last = index;
                    group.visible += 1;
                }
                None => group = Some(Group { first: index, last: index, visible: 1, role: message.role() }),
            }
        }
        // Nothing opens with a fake.
        group.filter(|group| self.message(group.first).is_some_and(|message| !message.is_fake()))
    }

    #[inline]
    fn set_asked(&mut self, group: &Group) {
        self.asked = if group.role == Role::Assistant { group.first..group.last + 1 } else { 0..0 };
    }

    fn as_the_model_sees(&self, group: &Group) -> Option<Cow<'a, W>> {
        let wrapper = self.manager.list.get(group.first)?;
        let stands_so = group.visible == 1
            && match group.role {
                Role::Assistant => self.manager.is_sayable(wrapper.message()),
                _ => self.answers_just_so(wrapper.message(), group),
            };
        Some(if stands_so { Cow::Borrowed(wrapper) } else { Cow::Owned(W::wrap(self.repaired(group)?)) })
    }

    fn repaired(&self, group: &Group) -> Option<Message> {
        let members = self.members(group);
        let contents = match group.role {
            Role::Assistant => members.flat_map(|message| self.manager.sayable(message)).collect(),
            _ => self.answer(group),
        };
        let mut message = self.message(group.first)?.with_contents(contents);
        // Once for each message that is merged into the first one here, and for what was merged into it in the list.
        let others = self.members(group).skip(1).flat_map(|other| other.metadata().attributes());
        let merges = others.filter(|attribute| *attribute == Attribute::Merged).count();
        for _ in 1..group.visible + merges {
            message.metadata_mut().add_attribute(Attribute::Merged);
        }
        Some(message)
    }

    fn members(&self, group: &Group) -> impl Iterator<Item = &'a Message> {
        let manager = self.manager;
        let members = manager.list.range(group.first..group.last + 1);
        members.map(W::message).filter(|message| manager.is_visible(message) && !message.is_fake())
    }

    /// Whether a user message holds the results of the calls before it, first and all, and no others.
    fn answers_just_so(&self, message: &Message, group: &Group) -> bool {
        let results = message.contents().iter().take_while(|content| content.as_result().is_some());
        let own = message.contents().get(results.clone().count()..).unwrap_or_default();
        own.iter().all(is_said)
            && results.filter_map(Content::as_result).all(|result| self.is_asked_for(result))
            && self.late_results(group).next().is_none()
    }

    /// The contents of a user message: the results of the calls before it, then what was said.
    fn answer(&self, group: &Group) -> Contents {
        let contents = || self.members(group).flat_map(|message| message.contents());
        let in_place = contents().filter(|content| content.as_result().is_some_and(|result| self.is_asked_for(result)));
        let said = contents().filter(|content| is_said(content));
        let mut answer: Contents = in_place.chain(self.late_results(group)).chain(said).cloned().collect();
        if answer.is_empty() {
            answer.extend([PLACEHOLDER.into()]);
        }
        answer
    }

    fn is_asked_for(&self, result: &ToolResult) -> bool {
        self.manager
            .calls
            .get(result.tool_call_id())
            .is_some_and(|call| self.asked.contains(&self.manager.index_of(call.made)))
    }

    /// The results of the calls before this group that stand behind it in the list.
    fn late_results(&self, group: &Group) -> impl Iterator<Item = &'a Content> {
        let manager = self.manager;
        let asked = manager.list.range(self.asked.clone());
        let last = group.last;
        let calls = asked.flat_map(|wrapper| wrapper.message().contents()).filter_map(Content::as_tool_call);
        calls.filter_map(move |tool_call| {
            let index = manager.index_of(manager.calls.get(tool_call.id())?.result?);
            if index <= last {
                return None;
            }
            let is_it = |content: &&Content| content.as_result().is_some_and(|r| r.tool_call_id() == tool_call.id());
            manager.list.get(index)?.message().contents().iter().find(is_it)
        })
    }
}

impl<'a, W: MessageWrapper> Iterator for Window<'a, W> {
    type Item = Cow<'a, W>;

    fn next(&mut self) -> Option<Cow<'a, W>> {
        let group = self.next_group()?;
        let message = self.as_the_model_sees(&group)?;
        self.set_asked(&group);
        Some(message)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.manager.list.end() - self.next))
    }
}

impl<W: MessageWrapper> FusedIterator for Window<'_, W> {}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Whether something of a message is in the window, fakes included.
    pub(super) fn is_visible(&self, message: &Message) -> bool {
        match message.role() {
            // A user message is always there: if nothing of it can be shown, it says `...`.
            Role::User => true,
            Role::Assistant => match (message.heard(), message.contents().first()) {
                (None, Some(Content::Text(_))) => true,
                _ => self.sayable(message).next().is_some(),
            },
            Role::Summary | Role::System => false,
        }
    }

    /// Whether all of an assistant message is in the window, as it is.
    fn is_sayable(&self, message: &Message) -> bool {
        message.heard().is_none() && message.contents().iter().all(|content| self.is_shown(content))
    }

    /// What of an assistant message is in the window.
    fn sayable<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = Content> {
        let contents = message.heard_contents().into_owned();
        contents.into_iter().filter(|content| self.is_shown(content) && !content.is_blank())
    }

    fn is_shown(&self, content: &Content) -> bool {
        match content {
            Content::ToolCall(tool_call) => self.calls.get(tool_call.id()).is_some_and(|call| call.result.is_some()),
            Content::Text(_) | Content::Media(_) | Content::Document(_) => true,
            Content::ToolResult(_) | Content::Unknown(_) => false,
        }
    }
}

/// Whether a content of a user message is something that the caller says.
fn is_said(content: &Content) -> bool {
    !matches!(content, Content::ToolResult(_) | Content::Unknown(_))
}
