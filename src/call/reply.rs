//! [`Reply`]: the words to be spoken, as the model generates them.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use super::sentences::Sentences;
use super::session::abandon;
use super::speech::Reading;
use crate::conversation::WeakConversation;
use crate::message::{Text, ToolCall, is_blank};
use crate::turn::{ReplyEnd, SpeechId};

/// The words to be spoken, as the model generates them. Read [events](Self::next) or [sentences](Self::next_sentence).
///
/// The session generates the reply in the background, however slowly it is read. After a barge-in the reply ends with
/// [`Interrupted`](ReplyEnd::Interrupted), even if there were more words to read; tool calls before it are still
/// returned. Dropping the reply before its end stops the model; the words so far stay in the conversation.
pub struct Reply {
    speech: SpeechId,
    events: mpsc::UnboundedReceiver<ReplyEvent>,
    /// Whether the speech was interrupted. It may be interrupted after all of it was generated.
    reading: Arc<Reading>,
    sentences: Sentences,
    /// Sentences that were not read yet.
    ready: VecDeque<String>,
    end: Option<ReplyEnd>,
    conversation: WeakConversation,
}

/// An event of a reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplyEvent {
    /// The next piece of the text, as the model sent it.
    Text(Text),
    /// The model called a tool. The service runs an external tool and reports the result with
    /// [`tool_result`](super::CallSession::tool_result); the session runs all other tools.
    ToolCalled(ToolCall),
    /// The reply ended. This is the last event.
    Ended(ReplyEnd),
}

/// The session's side of a [`Reply`].
#[derive(Debug)]
pub(super) struct Outlet {
    events: mpsc::UnboundedSender<ReplyEvent>,
    reading: Arc<Reading>,
}

impl Reply {
    pub(super) fn new(speech: SpeechId, reading: Arc<Reading>, conversation: WeakConversation) -> (Self, Outlet) {
        let (sender, events) = mpsc::unbounded_channel();
        let outlet = Outlet { events: sender, reading: reading.clone() };
        let (sentences, ready) = (Sentences::default(), VecDeque::new());
        (Self { speech, events, reading, sentences, ready, end: None, conversation }, outlet)
    }

    /// Returns the speech, for reports of its playback.
    pub fn speech(&self) -> SpeechId {
        self.speech
    }

    /// Returns how the reply ended, or `None` before its last event was read.
    pub fn end(&self) -> Option<&ReplyEnd> {
        self.end.as_ref()
    }

    /// Returns the next event, or `None` after [`Ended`](ReplyEvent::Ended). Cancel-safe.
    pub async fn next(&mut self) -> Option<ReplyEvent> {
        poll_fn(|context| self.poll_read(context)).await
    }

    /// Returns the next sentence for a speech synthesis, or `None` after the last one. Cancel-safe.
    ///
    /// A sentence includes the white space after it. The last sentence, and the last one before a tool call, usually have
    /// none: add a space where you join sentences. This method skips calls of external tools; find them with
    /// [`open_tool_calls`](crate::conversation::Conversation::open_tool_calls), or read [events](Self::next) instead.
    pub async fn next_sentence(&mut self) -> Option<String> {
        poll_fn(|context| self.poll_sentence(context)).await
    }

    /// Notes when the first words are handed out. Without a report, playback counts from that time.
    fn hand_out(&self, words: &str) {
        if !is_blank(words) {
            self.reading.hand_out(|| self.conversation.upgrade().map(|conversation| conversation.now_ms()));
        }
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Option<ReplyEvent>> {
        let event = std::task::ready!(self.poll_event(context));
        if let Some(ReplyEvent::Text(text)) = &event {
            self.hand_out(text);
        }
        Poll::Ready(event)
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<ReplyEvent>> {
        while self.end.is_none() {
            // The sender is dropped with the session.
            let event = std::task::ready!(self.events.poll_recv(context));
            match event.unwrap_or(ReplyEvent::Ended(ReplyEnd::Interrupted)) {
                ReplyEvent::Ended(end) => {
                    let end = if self.reading.is_cut() { ReplyEnd::Interrupted } else { end };
                    self.end = Some(end.clone());
                    return Poll::Ready(Some(ReplyEvent::Ended(end)));
                }
                // The log has the call as running, so the service must get it.
                event @ ReplyEvent::ToolCalled(_) => return Poll::Ready(Some(event)),
                event if !self.reading.is_cut() => return Poll::Ready(Some(event)),
                _ => {}
            }
        }
        Poll::Ready(None)
    }

    fn poll_sentence(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        loop {
            if !self.ready.is_empty() && self.reading.is_cut() {
                self.ready.clear();
                self.end = self.end.take().map(|_| ReplyEnd::Interrupted);
            }
            if let Some(sentence) = self.ready.pop_front() {
                self.hand_out(&sentence);
                return Poll::Ready(Some(sentence));
            }
            match std::task::ready!(self.poll_event(context)) {
                Some(ReplyEvent::Text(text)) => self.ready.extend(self.sentences.push(&text)),
                Some(ReplyEvent::Ended(ReplyEnd::Interrupted)) | None => return Poll::Ready(None),
                // The words before a tool call must be spoken while the tool runs.
                Some(ReplyEvent::ToolCalled(_) | ReplyEvent::Ended(_)) => {
                    self.ready.extend(std::mem::take(&mut self.sentences).finish());
                }
            }
        }
    }
}

impl Stream for Reply {
    type Item = ReplyEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ReplyEvent>> {
        self.poll_read(context)
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.end.is_none()
            && let Some(conversation) = self.conversation.upgrade()
        {
            abandon(&conversation, self.speech);
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("speech", &self.speech).field("end", &self.end).finish_non_exhaustive()
    }
}

impl Outlet {
    pub fn text(&self, text: Text) {
        self.send(ReplyEvent::Text(text));
    }

    pub fn tool_called(&self, tool_call: ToolCall) {
        self.send(ReplyEvent::ToolCalled(tool_call));
    }

    pub fn end(self, end: ReplyEnd) {
        if end == ReplyEnd::Interrupted {
            self.reading.cut();
        }
        self.send(ReplyEvent::Ended(end));
    }

    fn send(&self, event: ReplyEvent) {
        // Fails if the reply was dropped; then no reader needs the event.
        let _ = self.events.send(event);
    }
}
