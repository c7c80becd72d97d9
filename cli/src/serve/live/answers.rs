//! The answers of a call: one at a time, passed on to its client as messages.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use verbale::MessageWrapper;
use verbale::call::{Reply, ReplyEnd};
use verbale::conversation::ConversationErrorKind;

use super::{LiveCall, Passing};
use crate::serve::outbox::Outbox;
use crate::serve::protocol::ServerEvent;

impl LiveCall {
    /// Starts an answer. Returns the name of its speech, or why there is none.
    pub fn answer(self: &Arc<Self>) -> Result<String, &'static str> {
        let reply = self.session.reply().map_err(|error| match error.kind() {
            ConversationErrorKind::NothingToAnswer => "there is nothing to answer",
            ConversationErrorKind::InUse => "an answer is running",
            _ => "the call is closed",
        })?;
        let (outbox, speech) = (self.outbox.clone(), self.name(reply.speech()));
        let (call, name) = (Arc::downgrade(self), speech.clone());
        let task = tokio::spawn(async move {
            let end = pass_on(reply, &name, &outbox).await;
            outbox.push(&ServerEvent::ReplyEnded { speech: name, end });
            // Words that came while the answer was running.
            if let Some(call) = call.upgrade().filter(|_| end == "complete") {
                call.answer_new_words();
            }
        });
        self.state().answer = Some(Passing { speech: speech.clone(), task: task.abort_handle(), is_stopped: false });
        Ok(speech)
    }

    /// Notes an id of an event. Returns whether it is new.
    pub fn mark_seen(&self, event_id: &str) -> bool {
        self.state().seen.insert(event_id.to_owned())
    }

    /// Returns whether an answer is being passed on to the client.
    pub fn is_answering(&self) -> bool {
        self.state().answer.as_ref().is_some_and(|answer| !answer.task.is_finished())
    }

    /// Returns the text of the assistant's last message.
    pub fn last_answer(&self) -> Option<String> {
        self.session.conversation().read(|manager| {
            let mut last = manager.meta_messages().iter().rev().map(MessageWrapper::message);
            let last = last.find(|message| message.role() == verbale::Role::Assistant)?;
            Some(last.contents().texts().map(|text| text.as_str()).collect())
        })
    }

    /// Returns the speech of the newest answer.
    pub fn newest_answer(&self) -> Option<String> {
        self.state().answer.as_ref().map(|answer| answer.speech.clone())
    }

    /// Stops an answer that nobody listens to. Returns whether it was running.
    pub fn stop_answer(&self, speech: &str) -> bool {
        match &mut self.state().answer {
            Some(newest) if newest.speech == speech && !newest.task.is_finished() => {
                newest.is_stopped = true;
                // The task drops the answer, which stops the model.
                newest.task.abort();
            }
            _ => return false,
        }
        self.outbox.push(&ServerEvent::ReplyEnded { speech: speech.to_owned(), end: "interrupted" });
        true
    }

    /// Waits until the newest answer is gone, if it was stopped.
    pub async fn stopped_answer_is_over(&self) {
        let is_stopping =
            || self.state().answer.as_ref().is_some_and(|answer| answer.is_stopped && !answer.task.is_finished());
        while is_stopping() {
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Answers words of the caller that came during the answer. A late result of a tool waits for the client.
    fn answer_new_words(self: &Arc<Self>) {
        let has_words = self.session.conversation().read(|manager| {
            let last = manager.meta_messages().last().map(MessageWrapper::message);
            last.is_some_and(|message| {
                message.role() == verbale::Role::User && message.contents().texts().next().is_some()
            })
        });
        if has_words {
            // The next words of the caller try it again.
            let _ = self.answer();
        }
    }
}

/// Passes the sentences of an answer on. Returns a word for its end.
async fn pass_on(mut reply: Reply, speech: &str, outbox: &Arc<Outbox>) -> &'static str {
    let mut speaking = outbox.speak();
    loop {
        tokio::select! {
            // Words that the answer has come before the call of a tool.
            biased;
            sentence = reply.next_sentence() => match sentence {
                Some(text) => outbox.push(&ServerEvent::Sentence { speech: speech.to_owned(), text }),
                None => break,
            },
            () = speaking.push_next() => {}
        }
    }
    drop(speaking);
    match reply.end() {
        Some(ReplyEnd::Complete(_)) => "complete",
        Some(ReplyEnd::Failed(_)) => "failed",
        Some(ReplyEnd::AskedToRepeat) => "asked_to_repeat",
        _ => "interrupted",
    }
}
