//! What the model is asked: the window within its limit, and the record of what is no longer in it.

use std::collections::HashSet;

use super::observer::{CallEvent, SummaryOutcome};
use super::settings::CallSettings;
use super::state::State;
use crate::message::{Content, InvocationId, Message, MessageWrapper, PLACEHOLDER, Position, Role, Text};
use crate::model::{Extractive, ModelRequest, Usage};
use crate::policy::{TokenEstimator, Tokens};

/// What holds for the calls that the record lists. It stands here too, for the record is data, which is not obeyed.
const RULE: &str = "Never make a tool call again that the record of this call lists as made, unless the caller asks for it \
anew; one that is listed as running will still come back, and one that is listed as unknown may have acted: check, or ask \
the caller, before it is made again.";

/// What the model is to do, the same in each request, so that a provider's cache keeps it.
pub(super) fn instructions(system: Option<Text>, has_tools: bool) -> Option<Text> {
    match system {
        Some(system) if has_tools => Some(format!("{}\n\n{RULE}", system.as_str()).into()),
        None if has_tools => Some(RULE.into()),
        system => system,
    }
}

impl State {
    /// The request for an answer, without what is the same in all of them.
    pub fn request(&mut self, settings: &CallSettings) -> ModelRequest {
        let mut window = self.window();
        if self.tokens(&window) > settings.max_window && self.summarize_now() {
            window = self.window();
        }
        let left_out = self.trim(&mut window, settings.max_window);
        // What was thought unheard when the answer was asked for is known to be heard now: the caller said nothing since.
        if window.last().is_some_and(|last| last.role() == Role::Assistant) {
            window.push(Message::new(0.into(), Position::message(0), Role::User, PLACEHOLDER.into(), 0));
        }
        let answered: HashSet<&InvocationId> =
            contents(&window).filter_map(Content::as_result).map(|result| result.invocation_id()).collect();
        let summary = self
            .manager
            .last_summary()
            .map(|summary| summary.contents().texts().map(Text::as_str).collect::<Vec<_>>().join("\n"));
        let gap = (left_out > 0)
            .then(|| format!("Between this record and the messages below, {left_out} messages are left out."));
        let calls = self.ledger.record(&|id| answered.contains(id));
        let record: Vec<String> = summary.into_iter().chain(gap).chain(calls).collect();
        self.estimated = self.estimator.uncorrected(&window);
        let mut request = ModelRequest::new(window);
        request.record = (!record.is_empty()).then(|| record.join("\n\n").into());
        request
    }

    fn window(&self) -> Vec<Message> {
        self.manager.messages().map(|wrapper| wrapper.message().clone()).collect()
    }

    fn tokens(&self, window: &[Message]) -> Tokens {
        window.iter().map(|message| self.estimator.message(message)).sum()
    }

    /// The summary that needs no model, of all but the last turn. Says whether there is one.
    fn summarize_now(&mut self) -> bool {
        let Some(summarizing) = self.manager.summarizing_keeping(1) else { return false };
        let summary = Extractive::default().summary(&summarizing);
        let is_there = self.manager.add_summary(summary, &summarizing).is_ok();
        if is_there {
            let (outcome, usage) = (SummaryOutcome::Replaced(None), Usage::default());
            self.events.push(CallEvent::SummaryEnded { outcome, after_ms: 0, usage });
        }
        is_there
    }

    /// Leaves out the oldest turns, as many as it takes: an open call may keep them from being summarised. The last turn
    /// stays. Gives how many messages went.
    fn trim(&self, window: &mut Vec<Message>, most: Tokens) -> usize {
        let mut left = self.tokens(window);
        let mut cut = 0;
        for start in self.manager.turn_starts() {
            if left <= most {
                break;
            }
            cut = start.messages();
            left = self.tokens(window.get(cut..).unwrap_or_default());
        }
        window.drain(..cut);
        cut
    }
}

fn contents(window: &[Message]) -> impl Iterator<Item = &Content> {
    window.iter().flat_map(|message| message.contents().iter())
}
