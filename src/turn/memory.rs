//! The memory of a request: the calls that it lists, its facts, and its room in the budget.

use std::collections::HashSet;

use super::core::Core;
use super::event::CallEvent;
use crate::memory::{BYTES_PER_TOKEN, Fact, Length, Listing, Memory, TOOL_RULE};
use crate::message::{Content, Message, MessageWrapper, PlainMessage, Role, Text, ToolCallId, ToolResult};
use crate::policy::{TokenEstimator, Tokens};

impl Core {
    /// Writes the memory of the messages before the window, within the budget.
    pub(super) fn memory(&mut self, window: &[Message], left_out: usize, instructions: Tokens) -> Option<Text> {
        self.cover();
        let first = window.iter().find(|message| !message.is_fake());
        self.find_facts(first.map_or(0, |message| message.position().seq()));
        let others = instructions + self.tokens(window);
        let tokens = |memory: &str| others + self.estimator.text(memory);
        let budget = self.setup.budget;
        let messages: Vec<&Message> = window.iter().collect();
        let fits = |memory: &str| budget.is_none_or(|most| tokens(memory) <= most);
        let (text, tokens) = self.with_memory(&messages, left_out, true, &fits, |memory| {
            let text = memory.text();
            let tokens = tokens(text.as_deref().unwrap_or_default());
            (text, tokens)
        });
        if budget.is_some_and(|most| tokens > most) {
            let tokens = u32::try_from(tokens.get()).unwrap_or(u32::MAX);
            self.events.push(CallEvent::OverBudget { tokens });
        }
        text
    }

    /// Returns whether a window is within its limit, and whether it is within the budget together with the instructions
    /// and the shortest memory.
    pub(super) fn fits(&self, window: &[Message], instructions: Tokens) -> bool {
        let tokens = self.tokens(window);
        let shortest = || {
            let window: Vec<&Message> = window.iter().collect();
            let text = self.with_memory(&window, 0, true, &|_| true, |memory| memory.shortest());
            self.estimator.text(text.as_deref().unwrap_or_default())
        };
        tokens <= self.setup.max_window
            && self.setup.budget.is_none_or(|most| instructions + tokens + shortest() <= most)
    }

    /// Returns whether the prompt does not become longer when the first messages leave the window. The covered messages
    /// must be [counted](Self::cover). The states of calls that stay in the window are in both prompts.
    pub fn pays(&self, window: &[&Message], messages: usize) -> bool {
        let rest = window.get(messages..).unwrap_or_default();
        self.with_memory(rest, 0, false, &|_| true, |memory| {
            memory.shortest().is_none_or(|text| Length::of_text(&text).fits(memory.replaces))
        })
    }

    /// Calls `work` with the memory of the messages before a window.
    fn with_memory<T>(
        &self,
        window: &[&Message],
        left_out: usize,
        has_states: bool,
        fits: &dyn Fn(&str) -> bool,
        work: impl FnOnce(Memory<'_>) -> T,
    ) -> T {
        let contents = || window.iter().flat_map(|message| message.contents().iter());
        let answered: HashSet<&ToolCallId> =
            contents().filter_map(Content::as_result).map(ToolResult::tool_call_id).collect();
        let news = results_to_answer(window);
        let tools = &self.setup.tools;
        let window_from = self.window_from(window.iter().copied());
        work(Memory {
            summary: self.manager.last_summary().map(PlainMessage::message),
            left_out,
            tools: &self.tools_used,
            facts: &self.facts,
            listing: Listing {
                is_visible: &|id| answered.contains(id),
                is_news: &|id| news.contains(id),
                has_states,
                is_read_only: &|name| tools.get(name).is_some_and(|tool| !tool.acting.may_act()),
            },
            window_from,
            limit: self.setup.memory,
            replaces: self.replaced_before(window_from),
            fits,
        })
    }

    /// Returns the number of the first message of a window. The memory covers the messages before it.
    pub(super) fn window_from<'a>(&self, window: impl IntoIterator<Item = &'a Message>) -> u32 {
        let first = window.into_iter().find(|message| !message.is_fake());
        first.map_or_else(|| self.manager.message_count(), |first| first.position().seq())
    }

    /// Returns the length of the messages before `seq`, without the rules that come with the memory.
    fn replaced_before(&self, seq: u32) -> Length {
        let uncovered = self.manager.uncovered().map(PlainMessage::message);
        let left_out = uncovered.take_while(|message| message.position().seq() < seq).map(Length::of_message);
        let all = left_out.fold(self.covered.before(seq), Length::plus);
        if self.setup.tools.all().is_empty() { all } else { all.minus(Length::of_text(TOOL_RULE)) }
    }

    /// Counts the messages that a summary covers.
    pub fn cover(&mut self) {
        let first = self.first_uncovered();
        self.covered.update(self.manager.all().map(PlainMessage::message).rev(), first);
    }

    /// Keeps what the prompt needs of the messages before `first`, which are about to leave memory.
    pub fn remember(&mut self, first: u32) {
        self.refresh();
        self.cover();
        self.find_facts(self.first_uncovered());
        self.covered.join_before(first);
        self.facts.release(&self.manager, first);
    }

    /// Drops what is needed only for messages in memory.
    pub fn released(&mut self) {
        self.tools_used.release();
        self.with_ear(|ear, core| ear.released(&core.manager));
    }

    pub(super) fn first_uncovered(&self) -> u32 {
        let first = self.manager.uncovered().map(PlainMessage::message).next();
        first.map_or_else(|| self.manager.message_count(), |message| message.position().seq())
    }

    /// Returns the latest facts of the call.
    pub fn all_facts(&mut self) -> Vec<Fact> {
        self.refresh();
        let first = self.first_uncovered();
        self.find_facts(first);
        let mut facts = self.facts.clone();
        facts.update(&self.manager, first, u32::MAX, &*self.setup.fact_finder);
        facts.before(u32::MAX).facts().into_iter().chain(self.tools_used.facts()).collect()
    }

    /// Searches the messages before the window that were not searched yet. Later messages may still change.
    fn find_facts(&mut self, window_from: u32) {
        self.facts
            .limit(BYTES_PER_TOKEN.saturating_mul(usize::try_from(self.setup.memory.get()).unwrap_or(usize::MAX)));
        self.facts.search_edited(&self.manager, &*self.setup.fact_finder);
        let from = self.facts.searches_from(window_from);
        self.facts.update(&self.manager, from, window_from, &*self.setup.fact_finder);
    }

    pub(super) fn length_of<'a>(&self, texts: impl IntoIterator<Item = &'a Text>) -> Tokens {
        texts.into_iter().map(|text| self.estimator.text(text)).sum()
    }

    fn tokens(&self, window: &[Message]) -> Tokens {
        window.iter().map(|message| self.estimator.message(message)).sum()
    }
}

/// Returns the calls whose results follow the caller's last words. The model answers these results now, so the memory
/// need not mention them.
fn results_to_answer<'a>(window: &[&'a Message]) -> HashSet<&'a ToolCallId> {
    let of_user = window.iter().rev().filter(|message| message.role() == Role::User);
    let contents = of_user.flat_map(|message| message.contents().iter().rev());
    contents.map_while(|content| content.as_result().map(ToolResult::tool_call_id)).collect()
}
