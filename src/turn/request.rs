//! The request to the model: system messages, memory, and the window within its token limit.

use std::collections::HashSet;

use super::core::{Core, since};
use super::end::TurnFailure;
use super::event::{CallEvent, SpeechId, SummaryOutcome};
use super::setup::Setup;
use super::spans;
use crate::memory::{ExtractiveSummarizer, Fact, LATE_RESULT, Listing, Memory, TOOL_RULE};
use crate::message::{
    Content, Message, MessageWrapper, PLACEHOLDER, PlainMessage, Position, RequestRecord, Role, Text, ToolCallId,
    ToolResult, is_blank,
};
use crate::model::{ModelRequest, Usage};
use crate::policy::{TokenEstimator, Tokens};

/// The number of messages before a searched one that may help to understand it.
const CONTEXT: usize = 3;

/// A request that is ready to be sent.
pub(super) struct Prepared {
    pub setup: Setup,
    pub request: ModelRequest,
    pub offers_tools: bool,
}

impl Core {
    /// Builds the next request of a turn. Returns `None` if the turn is over.
    pub(super) fn prepare_request(&mut self, id: SpeechId) -> Option<Result<Prepared, TurnFailure>> {
        let rounds = self.turn_of(id)?.rounds;
        let setup = self.setup.clone();
        if setup.model.is_none() {
            return Some(Err(TurnFailure::NoModel));
        }
        let offers_tools = rounds < setup.max_tool_rounds;
        let Some(mut request) = self.prompt() else { return Some(Err(TurnFailure::NothingToAnswer)) };
        if offers_tools {
            request.tools = setup.tools.specs();
        }
        request.inference = setup.inference.clone();
        if self.turn_of(id)?.needs_room {
            request.inference.max_tokens = request.inference.max_tokens.map(|max| max.saturating_mul(2));
        }
        let reports: Vec<ToolCallId> = self.tools_used.unreported().map(|used| used.id().clone()).collect();
        // Only an unreported outcome can be told, and then it is news no more.
        self.news.retain(|id| reports.contains(id));
        let asked_ms = self.now_ms();
        let summary = self.manager.last_summary().map(|summary| summary.message().position().seq());
        spans::record_compacted(summary.is_some());
        let model = setup.model.as_ref().map(|(name, _)| name.clone());
        let record = RequestRecord {
            memory_covers: summary,
            memory_version: self.manager.summary_count(),
            ..RequestRecord::default()
        };
        let turn = self.turn_of(id)?;
        turn.awaits.clear();
        (turn.reports, turn.answer.asked_ms, turn.answer.first_token_ms) = (reports, asked_ms, None);
        turn.recorder.record_asked(record, model, asked_ms);
        Some(Ok(Prepared { setup, request, offers_tools }))
    }

    /// Builds a request without tools and settings. Returns `None` if the window is empty.
    fn prompt(&mut self) -> Option<ModelRequest> {
        self.refresh();
        let max_window = self.setup.max_window;
        let mut window = self.window();
        if self.tokens(&window) > max_window && self.summarize_now() {
            window = self.window();
        }
        let left_out = self.trim(&mut window, max_window);
        // A request must end with a user message. The last message is the assistant's if the answer was cut off, or
        // turned out to be heard to its end. The model then continues its own words.
        if window.last()?.role() == Role::Assistant {
            let text = if self.news.is_empty() { PLACEHOLDER } else { LATE_RESULT };
            window.push(Message::new(0.into(), Position::message(0), Role::User, text.into(), 0));
        }
        let memory = self.memory(&window, left_out);
        self.estimated = self.estimator.uncorrected(&window);
        let mut request = ModelRequest::new(window);
        request.memory = memory;
        (request.system, request.late_system) = self.system();
        Some(request)
    }

    /// Writes the memory of the messages before the window.
    fn memory(&mut self, window: &[Message], left_out: usize) -> Option<Text> {
        let window_from =
            window.iter().find(|message| !message.is_fake()).map_or(0, |message| message.position().seq());
        self.find_facts(window_from);
        let results = contents(window).filter_map(Content::as_result);
        let answered: HashSet<&ToolCallId> = results.map(ToolResult::tool_call_id).collect();
        // The model answers the results at the end of the window now, so the memory need not point to them.
        let end = window.last().filter(|message| message.role() == Role::User).map(Message::contents);
        let news: HashSet<&ToolCallId> = end
            .into_iter()
            .flat_map(|contents| contents.iter().rev())
            .map_while(|content| content.as_result().map(ToolResult::tool_call_id))
            .collect();
        let tools = &self.setup.tools;
        let memory = Memory {
            summary: self.manager.last_summary().map(PlainMessage::message),
            left_out,
            tools: &self.tools_used,
            facts: &self.facts,
            listing: Listing {
                is_visible: &|id| answered.contains(id),
                is_news: &|id| news.contains(id),
                is_read_only: &|name| tools.get(name).is_some_and(|tool| !tool.acting.may_act()),
            },
            window_from,
            limit: self.setup.memory,
        };
        memory.text()
    }

    /// Returns the latest facts of the call.
    pub fn all_facts(&mut self) -> Vec<Fact> {
        self.refresh();
        let first = self.manager.uncovered().next().map_or(u32::MAX, |message| message.message().position().seq());
        self.find_facts(first);
        self.facts.facts().into_iter().chain(self.tools_used.facts()).collect()
    }

    /// Takes over changes from outside the engine.
    fn refresh(&mut self) {
        if std::mem::take(&mut self.tools_are_stale) {
            self.tools_used.rebuild(self.manager.all().map(PlainMessage::message));
            self.facts.search_again(self.manager.all().next().map_or(0, |message| message.message().position().seq()));
        }
    }

    /// Searches the messages from the window on for facts again, because they may still change, and those before it that
    /// were not searched yet.
    fn find_facts(&mut self, window_from: u32) {
        let from = self.facts.searches_from(window_from);
        let messages = self.manager.all().map(PlainMessage::message);
        let later = messages.clone().rev().take_while(|message| message.position().seq() >= from).count();
        let skipped = messages.len().saturating_sub(later + CONTEXT);
        let spoken = messages.skip(skipped).filter(|message| message.role().is_spoken());
        self.facts.update(spoken, from, &*self.setup.fact_finder);
    }

    /// Returns the system messages of the first request, which stay in the provider's cache, and the later ones.
    fn system(&mut self) -> (Vec<Text>, Vec<Text>) {
        let texts = self.manager.system_messages().flat_map(|message| message.contents().texts());
        let mut stable: Vec<Text> = texts.filter(|text| !is_blank(text)).cloned().collect();
        let count = *self.stable_system.get_or_insert(stable.len());
        let late = stable.split_off(count.min(stable.len()));
        if !self.setup.tools.all().is_empty() {
            stable.push(TOOL_RULE.into());
        }
        (stable, late)
    }

    fn window(&self) -> Vec<Message> {
        self.manager.messages().map(|wrapper| wrapper.message().clone()).collect()
    }

    fn tokens(&self, window: &[Message]) -> Tokens {
        window.iter().map(|message| self.estimator.message(message)).sum()
    }

    /// Adds an extractive summary of all turns but the last. Returns whether it was added.
    fn summarize_now(&mut self) -> bool {
        let Some(summarizing) = self.manager.summarizing_keeping(1) else { return false };
        let begun_ms = self.now_ms();
        let summary = ExtractiveSummarizer::default().summary(&summarizing);
        let is_added = self.manager.add_summary(summary, &summarizing).is_ok();
        if is_added {
            let (outcome, usage) = (SummaryOutcome::Replaced(None), Usage::default());
            let after_ms = since(begun_ms, self.now_ms());
            self.events.push(CallEvent::SummaryEnded { outcome, after_ms, usage });
        }
        is_added
    }

    /// Removes the oldest turns until the window fits, and returns the number of removed messages. The last turn stays.
    ///
    /// An open tool call can prevent a summary, so the limit needs this second way.
    fn trim(&self, window: &mut Vec<Message>, max: Tokens) -> usize {
        let mut left = self.tokens(window);
        let mut cut = 0;
        for start in self.manager.turn_starts() {
            if left <= max {
                break;
            }
            cut = start.messages;
            left = self.tokens(window.get(cut..).unwrap_or_default());
        }
        window.drain(..cut);
        cut
    }
}

fn contents(window: &[Message]) -> impl Iterator<Item = &Content> {
    window.iter().flat_map(|message| message.contents().iter())
}
