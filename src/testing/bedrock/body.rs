//! [`Body`]: an answer on its way, step by step.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use super::counters::Ticket;

/// What happens next in a body.
pub(super) enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Silence for ever.
    Hang,
    /// What was sent goes out, before anything can break it off.
    Flush,
    /// The connection breaks.
    Break,
}

/// The body of an answer. Dropped before its last step, it is one that the client gave up.
pub(super) struct Body {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<Sleep>>>,
    ticket: Ticket,
    server_gone: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl Body {
    pub(super) fn new(steps: VecDeque<Step>, ticket: Ticket) -> Self {
        let mut body = Self { steps, waiting: None, ticket, server_gone: None };
        body.finish_at_end();
        body
    }

    /// The same, and it breaks when the server is gone.
    pub(super) fn until(self, server_gone: impl Future<Output = ()> + Send + Sync + 'static) -> Self {
        Self { server_gone: Some(Box::pin(server_gone)), ..self }
    }

    /// The client need not ask for more behind the last piece, so that is the end.
    fn finish_at_end(&mut self) {
        if self.steps.is_empty() {
            self.ticket.finish();
        }
    }

    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, io::Error>>> {
        loop {
            match self.steps.front() {
                Some(Step::Wait(wait)) => {
                    let sleep = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(*wait)));
                    ready!(sleep.as_mut().poll(context));
                    self.waiting = None;
                    self.steps.pop_front();
                }
                Some(Step::Hang) => return Poll::Pending,
                Some(Step::Flush) => {
                    self.steps.pop_front();
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Send(_) | Step::Break) | None => {
                    let step = self.steps.pop_front();
                    self.finish_at_end();
                    return Poll::Ready(match step {
                        Some(Step::Send(bytes)) => Some(Ok(bytes)),
                        Some(_) => Some(Err(io::ErrorKind::ConnectionReset.into())),
                        None => None,
                    });
                }
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let body = self.get_mut();
        if let Poll::Ready(step) = body.poll_step(context) {
            return Poll::Ready(step.map(|sent| sent.map(Frame::data)));
        }
        match &mut body.server_gone {
            Some(gone) => gone.as_mut().poll(context).map(|()| Some(Err(io::ErrorKind::ConnectionReset.into()))),
            None => Poll::Pending,
        }
    }

    /// Only what goes out in one piece has a length: a stream has none.
    fn size_hint(&self) -> SizeHint {
        match (self.steps.front(), self.steps.len()) {
            (None, _) => SizeHint::with_exact(0),
            (Some(Step::Send(bytes)), 1) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
