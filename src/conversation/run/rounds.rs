//! [`Rounds`]: asking the model, running the tools that it calls, and asking again.

use std::collections::VecDeque;

use tokio::task::JoinSet;

use super::Item;
use super::answer::{Answer, Said};
use super::request::request;
use crate::contents::{ResolveLimits, resolve};
use crate::conversation::error::RunError;
use crate::conversation::shared::{Conversation, Running};
use crate::manager::ManagerError;
use crate::message::{Attribute, Content, Invocation, InvocationResult};
use crate::model::{Model, NOT_RUN, OUTCOME_UNKNOWN, StopReason, failed};

/// A run between two of its messages. At every wait in it the conversation is as it should be; what is missing then, its
/// drop puts there.
pub(super) struct Rounds {
    conversation: Conversation,
    /// `None` once it is over.
    running: Option<Running>,
    /// The answer that is being generated.
    answer: Option<Answer>,
    /// The answer that has stopped.
    stopped: Option<Answer>,
    tools: JoinSet<InvocationResult>,
    /// The calls that have no result yet.
    open: Vec<Invocation>,
    /// How often tools were called.
    called: u32,
    /// What is in the conversation and was not given yet.
    ready: VecDeque<Item>,
}

impl Rounds {
    pub fn new(conversation: Conversation, running: Running) -> Self {
        Self {
            conversation,
            running: Some(running),
            answer: None,
            stopped: None,
            tools: JoinSet::new(),
            open: Vec::new(),
            called: 0,
            ready: VecDeque::new(),
        }
    }

    pub async fn next(mut self: Box<Self>) -> (Box<Self>, Option<Item>) {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return (self, Some(item));
            }
            // Tools run meanwhile.
            if let Some(answer) = self.stopped.take() {
                answer.read_out().await;
            }
            if self.running.is_none() {
                return (self, None);
            }
            if self.open.is_empty() { self.ask().await } else { self.wait_for_result().await }
        }
    }

    /// Whether all messages were given, and no other will come.
    pub fn are_over(&self) -> bool {
        self.running.is_none() && self.ready.is_empty()
    }

    async fn ask(&mut self) {
        match self.begin_answer().await {
            Ok(answer) => {
                let answer = self.answer.insert(answer);
                let read = answer.read(&self.conversation).await;
                match (self.answer.take(), read) {
                    (Some(answer), Ok(reason)) => self.answered(answer, reason),
                    (Some(answer), Err(error)) => {
                        self.keep_cut(answer.said);
                        self.end_with(error.into());
                    }
                    (None, _) => {}
                }
            }
            Err(error) => self.end_with(error),
        }
    }

    async fn begin_answer(&mut self) -> Result<Answer, RunError> {
        let config = self.conversation.config();
        let model = config.chosen()?.model.clone();
        let offers_tools = self.called < config.max_tool_rounds();
        let asked =
            self.conversation.read(|manager| Some((request(manager, &config, offers_tools)?, manager.now_ms())));
        let (mut request, asked_ms) = asked.ok_or(RunError::NothingToAnswer)?;
        if let Some(contents) = config.contents() {
            let resolved = resolve(request.messages, contents, ResolveLimits::default()).await;
            for problem in &resolved.problems {
                tracing::warn!(conversation = ?self.conversation.id(), %problem, "the model is told of it as a text");
            }
            request.messages = resolved.messages;
        }
        Ok(Answer::new(model.generate(request), config, asked_ms))
    }

    /// The model has stopped: what it said goes into the conversation, and the tools that it calls are run.
    fn answered(&mut self, mut answer: Answer, reason: StopReason) {
        let said = &mut answer.said;
        let is_cut = match reason {
            // What was called was asked for in an answer that nobody is to have.
            StopReason::Filtered => true,
            StopReason::MaxTokens | StopReason::ContextFull => said.calls.is_empty(),
            _ => false,
        };
        let kept = said.commit(&self.conversation, is_cut.then_some(Attribute::LlmInterrupted));
        let calls = std::mem::take(&mut said.calls);
        let config = answer.config.clone();
        self.stopped = Some(answer);
        match kept {
            Ok(Some(message)) => self.ready.push_back(Ok(message)),
            Ok(None) if !is_cut => return self.end_with(RunError::Blank),
            Ok(None) => {}
            Err(error) => return self.end_with(error.into()),
        }
        if is_cut {
            self.not_run(&calls);
            return self.end_with(RunError::Cut { reason });
        }
        if calls.is_empty() {
            self.running = None;
            return;
        }
        let max = config.max_tool_rounds();
        if self.called >= max {
            for call in &calls {
                self.note(failed(call, NOT_RUN, "The tool was not run: too many were called for one answer."));
            }
            return self.end_with(RunError::TooManyToolRounds { max });
        }
        self.called += 1;
        for call in calls {
            if let Some(tool) = config.tool(call.name()) {
                self.open.push(call.clone());
                self.tools.spawn(tool.clone().run(call, config.tool_within()));
            } else {
                let names: Vec<&str> = config.tools().iter().map(|tool| tool.name().as_str()).collect();
                let told = match names.as_slice() {
                    [] => "There are no tools; answer without.".to_owned(),
                    names => format!("There is no such tool; the tools are {}.", names.join(", ")),
                };
                self.note(failed(&call, NOT_RUN, &told));
            }
        }
    }

    async fn wait_for_result(&mut self) {
        match self.tools.join_next().await {
            Some(Ok(result)) => self.note(result),
            // The runtime ends it.
            Some(Err(_)) => {}
            None => self.lose_open("The tool was stopped before it answered; whether it acted is not known."),
        }
    }

    /// Puts what came of a call into the conversation.
    fn note(&mut self, result: InvocationResult) {
        self.open.retain(|call| call.id() != result.invocation_id());
        let content = Content::from(result);
        let noted = self.conversation.change(|manager| {
            manager.add_user(content.clone()).map(|entry| entry.message().with_contents(content.into()))
        });
        match noted {
            Ok(message) => self.ready.push_back(Ok(message)),
            // Somebody else has said what came of it.
            Err(ManagerError::SecondResult { .. }) => {}
            Err(error) => self.end_with(error.into()),
        }
    }

    /// Keeps what was said before it was cut. The calls in it were not run.
    fn keep_cut(&mut self, mut said: Said) {
        match said.commit(&self.conversation, Some(Attribute::LlmInterrupted)) {
            Ok(Some(message)) => self.ready.push_back(Ok(message)),
            Ok(None) => {}
            Err(error) => return self.end_with(error.into()),
        }
        self.not_run(&said.calls);
    }

    fn not_run(&mut self, calls: &[Invocation]) {
        for call in calls {
            self.note(failed(call, NOT_RUN, "The tool was not run: the answer was cut off."));
        }
    }

    /// What came of the open calls is not known, and never will be.
    fn lose_open(&mut self, message: &str) {
        self.tools.abort_all();
        for call in std::mem::take(&mut self.open) {
            self.note(failed(&call, OUTCOME_UNKNOWN, message));
        }
    }

    /// An error is the last item.
    fn end_with(&mut self, error: RunError) {
        self.lose_open("The run ended before the tool answered; whether it acted is not known.");
        if self.running.take().is_some() {
            self.ready.push_back(Err(error));
        }
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            self.keep_cut(answer.said);
        }
        while let Some(ended) = self.tools.try_join_next() {
            if let Ok(result) = ended {
                self.note(result);
            }
        }
        self.lose_open("The run was given up before the tool answered; whether it acted is not known.");
    }
}
