//! The request to the model: system messages, and the window within its token limit.

use super::core::{Core, since};
use super::end::TurnFailure;
use super::event::{CallEvent, SpeechId, SummaryOutcome};
use super::setup::Setup;
use super::spans;
use crate::memory::{ExtractiveSummarizer, LATE_RESULT, TOOL_RULE};
use crate::message::{Message, MessageWrapper, PLACEHOLDER, Position, RequestRecord, Role, Text, ToolCallId, is_blank};
use crate::model::{Inference, ModelRequest, Usage};
use crate::policy::Tokens;

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
        let Some((mut request, memory_covers)) = self.prompt() else {
            return Some(Err(TurnFailure::NothingToAnswer));
        };
        if offers_tools {
            request.tools = setup.tools.specs();
        }
        request.inference = Inference::clone(&setup.inference);
        let turn = self.turn_of(id)?;
        if std::mem::take(&mut turn.needs_room) {
            // The adapter may have a limit of its own, so the number of tokens at which the answer was cut off is the
            // limit.
            let max = request.inference.max_tokens.or_else(|| turn.recorder.last_output());
            turn.room = max.map(|max| max.saturating_mul(2));
        }
        request.inference.max_tokens = turn.room.or(request.inference.max_tokens);
        let reports: Vec<ToolCallId> = self.tools_used.unreported().map(|used| used.id().clone()).collect();
        // Only an unreported outcome is news. Once a request contains it, it is not news any more.
        self.news.retain(|id| reports.contains(id));
        let asked_ms = self.manager.ask();
        spans::record_compacted(self.manager.last_summary().is_some());
        let model = setup.model.as_ref().map(|(name, _)| name.clone());
        let record =
            RequestRecord { memory_covers, memory_version: self.manager.summary_count(), ..RequestRecord::default() };
        let turn = self.turn_of(id)?;
        turn.awaits.clear();
        (turn.reports, turn.answer.asked_ms, turn.answer.first_token_ms) = (reports, asked_ms, None);
        turn.recorder.record_asked(record, model, asked_ms);
        Some(Ok(Prepared { setup, request, offers_tools }))
    }

    /// Builds a request without tools and settings, and returns the number of the last message that its memory covers.
    /// Returns `None` if the window is empty.
    pub(super) fn prompt(&mut self) -> Option<(ModelRequest, Option<u32>)> {
        self.refresh();
        let (system, late_system) = self.system();
        let instructions = self.length_of(system.iter().chain(&late_system));
        let mut window = self.window();
        if !self.fits(&window, instructions) && self.summarize_now() {
            window = self.window();
        }
        let left_out = self.trim(&mut window, instructions);
        // A request must end with a user message. If the last message is the assistant's, because the answer was cut
        // off or turned out to be heard to its end, the model continues its own words.
        if window.last()?.role() == Role::Assistant {
            let text = if self.news.is_empty() { PLACEHOLDER } else { LATE_RESULT };
            window.push(Message::new(0.into(), Position::message(0), Role::User, text.into(), 0));
        }
        let memory = self.memory(&window, left_out, instructions);
        let is_shorter = left_out > 0 || self.manager.last_summary().is_some();
        let covers = is_shorter.then(|| self.window_from(&window).checked_sub(1)).flatten();
        self.estimated = self.estimator.uncorrected(&window);
        let mut request = ModelRequest::new(window);
        (request.memory, request.system, request.late_system) = (memory, system, late_system);
        Some((request, covers))
    }

    /// Returns the system messages of the first request, which the provider can cache, and the later ones.
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

    /// Adds an extractive summary of all turns except the last, if the memory does not then become longer than those
    /// turns. Returns whether it was added.
    fn summarize_now(&mut self) -> bool {
        self.cover();
        let chosen = self.manager.summarizing_by(|window, cuts| {
            let last = cuts.iter().rposition(|cut| cut.turns >= 1)?;
            cuts.get(last).filter(|cut| self.pays(window, cut.messages)).map(|_| last)
        });
        let Some(summarizing) = chosen else { return false };
        let begun_ms = self.now_ms();
        let summary = ExtractiveSummarizer::for_memory(self.setup.memory).summary(&summarizing);
        let is_added = self.manager.add_summary(summary, &summarizing).is_ok();
        if is_added {
            let (outcome, usage) = (SummaryOutcome::Replaced(None), Usage::default());
            let after_ms = since(begun_ms, self.now_ms());
            self.events.push(CallEvent::SummaryEnded { outcome, after_ms, usage, removed: 0 });
        }
        is_added
    }

    /// Removes the oldest turns until the window fits, and returns the number of removed messages. The last turn stays.
    ///
    /// This is needed because an open tool call can prevent a summary.
    fn trim(&mut self, window: &mut Vec<Message>, instructions: Tokens) -> usize {
        self.cover();
        let all: Vec<&Message> = window.iter().collect();
        let mut cut = 0;
        for start in self.manager.turn_starts() {
            if self.fits(window.get(cut..).unwrap_or_default(), instructions) {
                break;
            }
            if self.pays(&all, start.messages) {
                cut = start.messages;
            }
        }
        window.drain(..cut);
        cut
    }
}
