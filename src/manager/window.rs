//! [`Window`]: the messages that the model gets now, computed while they are read.

use std::borrow::Cow;
use std::iter::FusedIterator;
use std::ops::Range;

use super::MessagesManager;
use crate::message::{
    Attribute, Content, Contents, Message, MessageId, MessageWrapper, PLACEHOLDER, Position, Role, ToolResult,
};

/// The iterator of [`MessagesManager::messages`], which documents its rules.
#[derive(Debug, Clone)]
pub(super) struct Window<'a, W> {
    manager: &'a MessagesManager<W>,
    // The next index in the list.
    next: usize,
    // The role of the last message.
    last: Option<Role>,
    // The indices of the last assistant message, whose calls the next user message answers.
    asked: Range<usize>,
}

/// Messages of one role that form one message of the window, by their indices in the list. An empty group is a fake in
/// place of missing messages.
struct Group {
    first: usize,
    /// The index after the last message.
    end: usize,
    /// The number of messages of the group that are in the window.
    visible: usize,
    role: Role,
}

/// A message of the window with its place in the list.
pub(super) struct ShownMessage {
    /// The index after the last message of the list that is part of it.
    pub end: usize,
    /// Whether the caller says something in it: it is not a fake and holds more than tool results.
    pub starts_turn: bool,
    /// Whether it answers tool calls of the message before.
    pub answers_call: bool,
    /// The number of turns that start in the window up to here.
    pub turns: usize,
}

impl<'a, W: MessageWrapper> Window<'a, W> {
    pub(super) fn new(manager: &'a MessagesManager<W>) -> Self {
        Self { manager, next: manager.window_start(), last: None, asked: 0..0 }
    }

    fn message(&self, index: usize) -> Option<&'a Message> {
        self.manager.list.get(index).map(W::message)
    }

    /// Iterates over the places of the remaining messages.
    pub(super) fn places(mut self) -> impl Iterator<Item = ShownMessage> {
        let mut turns = 0;
        std::iter::from_fn(move || {
            let group = self.next_group()?;
            let is_user = group.role == Role::User;
            let is_call = |content: &Content| content.as_tool_call().is_some() && self.manager.is_shown(content);
            let asked = || self.manager.list.range(self.asked.clone());
            let answers_call = is_user && asked().any(|wrapper| wrapper.contents().iter().any(is_call));
            let starts_turn = is_user && self.members(&group).any(Message::starts_turn);
            turns += usize::from(starts_turn);
            self.set_asked(&group);
            Some(ShownMessage { end: group.end, starts_turn, answers_call, turns })
        })
    }

    /// Returns the next messages of one role.
    #[inline]
    fn next_group(&mut self) -> Option<Group> {
        let group = self.next_members()?;
        self.last = Some(group.role);
        Some(group)
    }

    fn next_members(&mut self) -> Option<Group> {
        let mut group: Option<Group> = None;
        while let Some(message) = self.message(self.next) {
            let index = self.next;
            self.next += 1;
            if !self.manager.is_visible(message) {
                continue;
            }
            match &mut group {
                Some(group) if group.role != message.role() || self.is_apart(group, message) => {
                    self.next = index;
                    return Some(Group { ..*group });
                }
                // A real message replaces a fake.
                Some(group) if self.message(group.first).is_some_and(Message::is_fake) => {
                    (group.first, group.end) = (index, index + 1);
                }
                Some(group) => {
                    group.end = index + 1;
                    group.visible += 1;
                }
                // A message is missing before the answer.
                None if message.role() == Role::Assistant && self.last != Some(Role::User) => {
                    self.next = index;
                    return Some(Group { first: index, end: index, visible: 0, role: Role::User });
                }
                None => group = Some(Group { first: index, end: index + 1, visible: 1, role: message.role() }),
            }
        }
        // A fake opens nothing if no message follows.
        group.filter(|group| self.message(group.first).is_some_and(|message| !message.is_fake()))
    }

    /// Returns `true` if a message is missing between a group and another answer.
    fn is_apart(&self, group: &Group, next: &Message) -> bool {
        let last = || self.message(group.end - 1).map_or(0, |last| last.position().seq());
        next.role() == Role::Assistant
            && self.manager.holes().messages() > 0
            && self.manager.holes().is_between(last(), next.position().seq())
    }

    #[inline]
    fn set_asked(&mut self, group: &Group) {
        let asks = group.role == Role::Assistant && self.text(group).is_none();
        self.asked = if asks { group.first..group.end } else { 0..0 };
    }

    /// Returns the message of the group if it is one message that is one text, as most are.
    #[inline]
    fn text(&self, group: &Group) -> Option<&'a Message> {
        let message = self.message(group.first).filter(|_| group.visible == 1)?;
        matches!(**message.contents(), [Content::Text(_)]).then_some(message)
    }

    fn shown(&self, group: &Group) -> Option<Cow<'a, W>> {
        let wrapper = self.manager.list.get(group.first)?;
        if group.visible == 0 {
            return Some(Cow::Owned(W::from(self.fake(wrapper.message(), group))));
        }
        let is_valid = || match group.role {
            Role::Assistant => self.manager.is_shown_whole(wrapper.message()),
            _ => self.is_valid_answer(wrapper.message(), group),
        };
        // Fast path for the usual message, which is one text that was heard and answers no call.
        let is_text = || self.asked.is_empty() && wrapper.heard().is_none() && self.text(group).is_some();
        let is_valid = group.visible == 1 && (is_text() || is_valid());
        Some(if is_valid { Cow::Borrowed(wrapper) } else { Cow::Owned(W::from(self.repaired(group)?)) })
    }

    fn repaired(&self, group: &Group) -> Option<Message> {
        let members = self.members(group);
        let contents = match group.role {
            Role::Assistant => calls_last(members.flat_map(|message| self.manager.shown_contents(message))),
            _ => self.answer(group),
        };
        let mut message = self.message(group.first)?.with_contents(contents);
        // One mark for each message merged here, and one for each merged in the list before.
        let others = self.members(group).skip(1).flat_map(|other| other.metadata().attributes());
        let merges = others.filter(|attribute| *attribute == Attribute::Merged).count();
        for _ in 1..group.visible + merges {
            message.metadata_mut().add_attribute(Attribute::Merged);
        }
        if message.is_background() && !self.members(group).all(Message::is_background) {
            message.unmark_background();
        }
        Some(message)
    }

    /// Returns the fake in place of the messages that are missing before `next`. It answers the calls before it.
    fn fake(&self, next: &Message, group: &Group) -> Message {
        let position = Position::message(next.position().seq().saturating_sub(1));
        // The fake has the id 0, which no message in the list has.
        let (id, created_ms) = (MessageId::from(0), next.metadata().created_ms());
        let mut fake = Message::new(id, position, Role::User, self.answer(group), created_ms);
        fake.metadata_mut().add_attribute(Attribute::Fake);
        fake
    }

    fn members(&self, group: &Group) -> impl Iterator<Item = &'a Message> {
        let manager = self.manager;
        let members = manager.list.range(group.first..group.end);
        members.map(W::message).filter(|message| manager.is_visible(message) && !message.is_fake())
    }

    /// Returns `true` if a user message starts with all results of the calls before it and holds no others.
    fn is_valid_answer(&self, message: &Message, group: &Group) -> bool {
        if self.asked.is_empty() {
            return message.contents().iter().all(Content::is_callers);
        }
        let results = message.contents().iter().take_while(|content| content.as_result().is_some());
        let own = message.contents().get(results.clone().count()..).unwrap_or_default();
        own.iter().all(Content::is_callers)
            && results.filter_map(Content::as_result).all(|result| self.is_asked_for(message, result))
            && self.late_results(group).next().is_none()
    }

    /// Returns the contents of a user message: the results of the calls before it, then the caller's words.
    fn answer(&self, group: &Group) -> Contents {
        let contents =
            || self.members(group).flat_map(|message| message.contents().iter().map(move |it| (message, it)));
        let is_asked_for = |(message, content): &(&Message, &Content)| {
            content.as_result().is_some_and(|result| self.is_asked_for(message, result))
        };
        let in_place = contents().filter(is_asked_for).map(|(_, content)| content);
        let said = contents().map(|(_, content)| content).filter(|content| content.is_callers());
        let mut answer: Contents = in_place.chain(self.late_results(group)).chain(said).cloned().collect();
        if answer.is_empty() {
            answer.extend([PLACEHOLDER.into()]);
        }
        answer
    }

    /// Returns `true` if the result belongs to a call that this group answers.
    fn is_asked_for(&self, message: &Message, result: &ToolResult) -> bool {
        let is_of = |seq| self.asked.contains(&self.manager.index_of(seq));
        let call = self.manager.calls.get(result.tool_call_id());
        call.is_some_and(|call| call.result == Some(message.position().seq()) && is_of(call.made))
    }

    /// Iterates over results of the calls before this group that follow the group in the list.
    fn late_results(&self, group: &Group) -> impl Iterator<Item = &'a Content> {
        let manager = self.manager;
        let asked = manager.list.range(self.asked.clone());
        let end = group.end;
        let calls = asked.flat_map(|wrapper| wrapper.message().contents()).filter_map(Content::as_tool_call);
        calls.filter_map(move |tool_call| {
            let index = manager.index_of(manager.calls.get(tool_call.id())?.result?);
            if index < end {
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
        let message = self.shown(&group)?;
        self.set_asked(&group);
        Some(message)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.manager.list.end() - self.next))
    }
}

impl<W: MessageWrapper> FusedIterator for Window<'_, W> {}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns `true` if any part of a message is in the window. A fake counts.
    #[inline]
    pub(super) fn is_visible(&self, message: &Message) -> bool {
        match message.role() {
            // A user message is always visible: it becomes `...` if none of its contents are.
            Role::User => true,
            Role::Assistant => match (message.heard(), message.contents().first()) {
                (None, Some(Content::Text(_))) => true,
                _ => self.shown_contents(message).next().is_some(),
            },
            Role::Summary | Role::System => false,
        }
    }

    /// Returns `true` if an assistant message is in the window unchanged.
    fn is_shown_whole(&self, message: &Message) -> bool {
        let contents = message.contents();
        message.heard().is_none()
            && contents.iter().all(|content| self.is_shown(content))
            && contents.is_sorted_by_key(|content| content.as_tool_call().is_some())
    }

    /// Iterates over the contents of an assistant message that are in the window.
    fn shown_contents<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = Content> {
        let contents = message.heard_contents().into_owned();
        contents.into_iter().filter(|content| self.is_shown(content) && !content.is_blank())
    }

    fn is_shown(&self, content: &Content) -> bool {
        match content {
            Content::ToolCall(tool_call) => self.calls.get(tool_call.id()).is_some_and(|call| call.result.is_some()),
            Content::Text(_) | Content::Media(_) => true,
            Content::ToolResult(_) | Content::Unknown(_) => false,
        }
    }
}

/// Moves tool calls after all other contents. Providers refuse a message with a text after its tool calls.
fn calls_last(contents: impl Iterator<Item = Content>) -> Contents {
    let (calls, others): (Vec<Content>, Vec<Content>) = contents.partition(|content| content.as_tool_call().is_some());
    others.into_iter().chain(calls).collect()
}
