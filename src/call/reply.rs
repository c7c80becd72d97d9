//! [`Reply`]: what is to be spoken, as it comes: piece by piece, or [sentence by sentence](Reply::sentences).

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;

use super::sentences::Sentences;
use super::shared::Shared;
use super::speech::SpeechId;
use crate::message::{Invocation, Text};
use crate::model::{Failure, StopReason};

/// What is to be spoken, as it comes. The session generates it in the background, however slowly this is read.
///
/// Once the caller breaks in, it gives [`Interrupted`](ReplyEnd::Interrupted) and nothing more, whatever was still to be
/// read. Dropping it before its end stops the model: what it had said stays in the conversation, as far as it was heard.
pub struct Reply {
    speech: SpeechId,
    events: mpsc::UnboundedReceiver<ReplyEvent>,
    is_cut: Arc<AtomicBool>,
    has_ended: bool,
    session: Weak<Shared>,
}

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplyEvent {
    /// The next piece of the text, as the model gave it.
    Text(Text),
    /// The model calls a tool. One without a handler is the service's to run: hand in what came of it with
    /// [`tool_result`](super::CallSession::tool_result).
    ToolCalled(Invocation),
    /// There is nothing more: the last event.
    Ended(ReplyEnd),
}

/// How a reply ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplyEnd {
    /// The model has said what it had to say.
    Complete(StopReason),
    /// The caller broke in, or the call was closed.
    Interrupted,
    /// The model had no answer in time: the apology stands in its place, or behind what it had said.
    Apologised(Option<Failure>),
    /// The caller was not understood, and is asked to say it again.
    AskedToRepeat,
}

/// Where the session puts what is to be spoken.
#[derive(Debug)]
pub(super) struct Outlet {
    events: mpsc::UnboundedSender<ReplyEvent>,
    is_cut: Arc<AtomicBool>,
}

impl Reply {
    pub(super) fn new(speech: SpeechId, session: Weak<Shared>) -> (Self, Outlet) {
        let (sender, events) = mpsc::unbounded_channel();
        let is_cut = Arc::new(AtomicBool::new(false));
        let outlet = Outlet { events: sender, is_cut: is_cut.clone() };
        (Self { speech, events, is_cut, has_ended: false, session }, outlet)
    }

    /// Names it in reports of its playback.
    pub fn speech(&self) -> SpeechId {
        self.speech
    }

    /// The next piece; `None` behind [`Ended`](ReplyEvent::Ended). Nothing is lost if this is dropped.
    pub async fn next(&mut self) -> Option<ReplyEvent> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The same by whole sentences, for a speech synthesis.
    pub fn sentences(self) -> SpokenSentences {
        SpokenSentences { reply: self, sentences: Sentences::default(), ready: Default::default(), end: None }
    }
}

impl Stream for Reply {
    type Item = ReplyEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ReplyEvent>> {
        loop {
            if self.has_ended {
                return Poll::Ready(None);
            }
            match self.events.poll_recv(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(ReplyEvent::Text(_) | ReplyEvent::ToolCalled(_)))
                    if self.is_cut.load(Ordering::Acquire) => {}
                Poll::Ready(Some(event)) => {
                    self.has_ended = matches!(event, ReplyEvent::Ended(_));
                    return Poll::Ready(Some(event));
                }
                // The session is gone.
                Poll::Ready(None) => {
                    self.has_ended = true;
                    return Poll::Ready(Some(ReplyEvent::Ended(ReplyEnd::Interrupted)));
                }
            }
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.has_ended
            && let Some(session) = self.session.upgrade()
        {
            session.abandon(self.speech);
        }
    }
}

impl Outlet {
    pub fn text(&self, text: Text) {
        self.send(ReplyEvent::Text(text));
    }

    pub fn tool_called(&self, invocation: Invocation) {
        self.send(ReplyEvent::ToolCalled(invocation));
    }

    pub fn end(self, end: ReplyEnd) {
        if end == ReplyEnd::Interrupted {
            self.is_cut.store(true, Ordering::Release);
        }
        self.send(ReplyEvent::Ended(end));
    }

    /// Whoever does not listen any more needs nothing.
    fn send(&self, event: ReplyEvent) {
        let _ = self.events.send(event);
    }
}

/// The sentences of a [`Reply`]; made by [`Reply::sentences`].
pub struct SpokenSentences {
    reply: Reply,
    sentences: Sentences,
    ready: VecDeque<String>,
    end: Option<ReplyEnd>,
}

impl SpokenSentences {
    /// Names it in reports of its playback.
    pub fn speech(&self) -> SpeechId {
        self.reply.speech
    }

    /// How it ended; `None` before.
    pub fn end(&self) -> Option<&ReplyEnd> {
        self.end.as_ref()
    }

    /// The next sentence; `None` behind the last. Calls of tools without a handler are in
    /// [`open_invocations`](super::CallSession::open_invocations). Nothing is lost if this is dropped.
    pub async fn next(&mut self) -> Option<String> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for SpokenSentences {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<String>> {
        let this = &mut *self;
        loop {
            if this.reply.is_cut.load(Ordering::Acquire) {
                this.ready.clear();
            }
            if let Some(sentence) = this.ready.pop_front() {
                return Poll::Ready(Some(sentence));
            }
            if this.end.is_some() {
                return Poll::Ready(None);
            }
            match Pin::new(&mut this.reply).poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(ReplyEvent::Text(text))) => this.ready.extend(this.sentences.push(&text)),
                // What stands before it is to be spoken while the tool runs.
                Poll::Ready(Some(ReplyEvent::ToolCalled(_))) => {
                    this.ready.extend(std::mem::take(&mut this.sentences).finish())
                }
                Poll::Ready(Some(ReplyEvent::Ended(end))) => {
                    if end != ReplyEnd::Interrupted {
                        this.ready.extend(std::mem::take(&mut this.sentences).finish());
                    }
                    this.end = Some(end);
                }
                Poll::Ready(None) => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("speech", &self.speech)
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SpokenSentences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpokenSentences").field("reply", &self.reply).field("end", &self.end).finish_non_exhaustive()
    }
}
