//! [`Answer`]: what one request to the model comes to, and its way into the conversation.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::clock::from_now;
use crate::conversation::config::Config;
use crate::conversation::shared::Conversation;
use crate::manager::ManagerError;
use crate::message::{Attribute, Content, Invocation, InvocationId, Message, Timing, is_blank};
use crate::model::{Failure, Generation, ModelError, ModelEvent, Received, StopReason, Wait};

/// One request, and what the model has said to it so far.
pub(super) struct Answer {
    /// As it was when the model was asked.
    pub config: Config,
    pub said: Said,
    generation: Generation,
    until: Instant,
}

/// What the model has said.
pub(super) struct Said {
    text: String,
    pub calls: Vec<Invocation>,
    asked_ms: i64,
    first_token_ms: Option<i64>,
}

impl Answer {
    pub fn new(generation: Generation, config: Config, asked_ms: i64) -> Self {
        let said = Said { text: String::new(), calls: Vec::new(), asked_ms, first_token_ms: None };
        Self { until: from_now(config.answer_within()), generation, config, said }
    }

    /// Reads up to the stop. Can be dropped at any wait: what has come stays.
    pub async fn read(&mut self, conversation: &Conversation) -> Result<StopReason, ModelError> {
        loop {
            let next = std::future::poll_fn(|context| self.generation.as_mut().poll_next(context));
            let Ok(event) = timeout_at(self.until, next).await else {
                let after = self.config.answer_within();
                return Err(self.failed(Failure::TimedOut { wait: Wait::WholeAnswer, after }));
            };
            match event.ok_or_else(|| self.failed(Failure::Truncated))?? {
                ModelEvent::Text(text) => {
                    if self.said.first_token_ms.is_none() {
                        self.said.first_token_ms = Some(conversation.read(|manager| manager.now_ms()));
                    }
                    self.said.text.push_str(&text);
                }
                ModelEvent::Invocation(call) => self.said.calls.push(call),
                ModelEvent::Stop(reason) => return Ok(reason),
                ModelEvent::Repaired(repairs) => {
                    for repair in repairs {
                        tracing::warn!(?repair, "the request was repaired");
                    }
                }
                ModelEvent::Usage(_) => {}
            }
        }
    }

    /// Reads what comes behind the stop, so that the connection can be used again. A model that does not end is not waited
    /// for.
    pub async fn read_out(mut self) {
        const WITHIN: Duration = Duration::from_secs(1);
        let until = from_now(WITHIN);
        let mut next = async || std::future::poll_fn(|context| self.generation.as_mut().poll_next(context)).await;
        while let Ok(Some(Ok(_))) = timeout_at(until, next()).await {}
    }

    fn failed(&self, kind: Failure) -> ModelError {
        ModelError::new(kind, Received { text_bytes: self.said.text.len(), invocations: self.said.calls.len() })
    }
}

impl Said {
    /// Puts it into the conversation, and gives what was put there; `None` where it says nothing. A call whose id was used
    /// before gets one of its own.
    pub fn commit(
        &mut self,
        conversation: &Conversation,
        mark: Option<Attribute>,
    ) -> Result<Option<Message>, ManagerError> {
        if is_blank(&self.text) && self.calls.is_empty() {
            return Ok(None);
        }
        conversation.change(|manager| {
            let mut number = 1_u32;
            loop {
                number += 1;
                let contents = self.contents();
                let mut entry = match manager.add_assistant(contents.clone()) {
                    Err(ManagerError::RepeatedInvocation { id }) => {
                        self.rename(&id, number)?;
                        continue;
                    }
                    added => added?,
                };
                if entry.message().metadata().timing(Timing::LlmStart).is_none() {
                    entry.put_timing(Timing::LlmStart, self.asked_ms);
                    if let Some(first_token_ms) = self.first_token_ms {
                        entry.put_timing(Timing::LlmFirstToken, first_token_ms);
                    }
                }
                entry.now(Timing::LlmEnd);
                if let Some(mark) = mark {
                    entry.add_attribute(mark);
                }
                return Ok(Some(entry.message().with_contents(contents.into())));
            }
        })
    }

    fn contents(&self) -> Vec<Content> {
        let text = Some(&self.text).filter(|text| !is_blank(text)).map(Content::from);
        text.into_iter().chain(self.calls.iter().cloned().map(Content::from)).collect()
    }

    /// Gives the last call with this id another one.
    fn rename(&mut self, id: &InvocationId, number: u32) -> Result<(), ManagerError> {
        if let Some(call) = self.calls.iter_mut().rfind(|call| call.id() == id) {
            // An id has 64 characters at most, all of one byte.
            let stem: String = id.as_str().chars().take(53).collect();
            *call = Invocation::new(format!("{stem}-{number}"), call.name().as_str(), call.arguments().clone())?;
        }
        Ok(())
    }
}
