//! [`Turns`]: where a window can be cut.

use std::collections::HashMap;

use super::tokens::Tokens;
use crate::message::{InvocationId, Message, Role};

/// The turns of a window, in their order.
pub(super) struct Turns {
    turns: Vec<Turn>,
    size: Size,
}

struct Turn {
    /// How much lies before it.
    before: Size,
    /// Whether anything before it was said, and not made up to open the window.
    anything_before: bool,
    /// The last turn that holds a result of one of its calls; itself where there is none.
    reaches: usize,
}

/// How much there is of a part of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub tokens: Tokens,
    pub messages: usize,
}

/// A place where a window can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// How much lies before it.
    pub covers: Size,
    /// How many turns lie behind it.
    pub keeps: usize,
}

impl Turns {
    pub(super) fn of<'a>(window: impl IntoIterator<Item = &'a Message>, tokens: impl Fn(&Message) -> Tokens) -> Self {
        let mut turns: Vec<Turn> = Vec::new();
        let mut size = Size::default();
        let mut anything = false;
        // The turn of each call whose result has not come.
        let mut open: HashMap<&InvocationId, usize> = HashMap::new();
        for message in window.into_iter().filter(|message| message.role().is_spoken()) {
            if turns.is_empty() || starts_turn(message) {
                turns.push(Turn { before: size, anything_before: anything, reaches: turns.len() });
            }
            let turn = turns.len() - 1;
            for content in message.contents() {
                if let Some(invocation) = content.as_invocation() {
                    open.entry(invocation.id()).or_insert(turn);
                } else if let Some(result) = content.as_result()
                    && let Some(call) = open.remove(result.invocation_id())
                    && let Some(calling) = turns.get_mut(call)
                {
                    calling.reaches = turn;
                }
            }
            size = Size { tokens: size.tokens + tokens(message), messages: size.messages + 1 };
            anything |= !message.is_fake();
        }
        for call in open.into_values() {
            if let Some(calling) = turns.get_mut(call) {
                calling.reaches = usize::MAX;
            }
        }
        Self { turns, size }
    }

    /// How much there is in all.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// From the one that keeps most to the one that keeps least: those before which something was said, and that part
    /// no call from its result, nor from a result that is still to come.
    pub(super) fn cuts(&self) -> impl Iterator<Item = Cut> {
        let safe = self.turns.iter().enumerate().scan(0, |reached, (turn, here)| {
            let safe = *reached < turn;
            *reached = here.reaches.max(*reached);
            Some((safe && here.anything_before).then_some(Cut { covers: here.before, keeps: self.turns.len() - turn }))
        });
        safe.flatten()
    }
}

impl Size {
    pub(super) fn minus(self, covered: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(covered.tokens),
            messages: self.messages.saturating_sub(covered.messages),
        }
    }
}

/// Whether a caller says something here: results of tools alone do not start a turn.
fn starts_turn(message: &Message) -> bool {
    message.role() == Role::User
        && !message.is_fake()
        && message.contents().iter().any(|content| content.as_result().is_none())
}
