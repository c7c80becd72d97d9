//! [`Body`]: the body of a response, sent step by step.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use super::counters::Ticket;

/// A step of a body.
pub(super) enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Sends nothing more, and keeps the connection open.
    Hang,
    /// Sends the bytes so far before the next step.
    Flush,
    /// Breaks the connection.
    Break,
}

/// The body of a response. Dropping it before its last step counts as cancelled by the client.
pub(super) struct Body {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<Sleep>>>,
    ticket: Ticket,
    server_dropped: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl Body {
    pub(super) fn new(steps: VecDeque<Step>, ticket: Ticket) -> Self {
        let mut body = Self { steps, waiting: None, ticket, server_dropped: None };
        body.finish_at_end();
        body
    }

    /// Breaks the connection when the server is dropped.
    pub(super) fn until(self, server_dropped: impl Future<Output = ()> + Send + Sync + 'static) -> Self {
        Self { server_dropped: Some(Box::pin(server_dropped)), ..self }
    }

    /// Finishes with the last piece, because the client may not poll again.
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
        match &mut body.server_dropped {
            Some(dropped) => dropped.as_mut().poll(context).map(|()| Some(Err(io::ErrorKind::ConnectionReset.into()))),
            None => Poll::Pending,
        }
    }

    /// Only a body of one piece has a length.
    fn size_hint(&self) -> SizeHint {
        match (self.steps.front(), self.steps.len()) {
            (None, _) => SizeHint::with_exact(0),
            (Some(Step::Send(bytes)), 1) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
