//! [`Screen`]: what happens in the call, a line each, for people.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use verbale::conversation::{CallEvent, Observer, SummaryOutcome};

use crate::pace::Pace;
use crate::text::visible;

/// Shows a line for each thing that happens. Whatever was said is escaped.
pub struct Screen {
    pace: Pace,
    out: Mutex<Out>,
}

struct Out {
    writer: Box<dyn Write + Send>,
    /// The first one. The call goes on all the same, and is logged to its end.
    failed: Option<io::Error>,
}

impl Screen {
    pub fn new(pace: Pace, writer: impl Write + Send + 'static) -> Self {
        Self { pace, out: Mutex::new(Out { writer: Box::new(writer), failed: None }) }
    }

    /// Somebody begins to say this.
    pub fn said(&self, who: &str, words: &str) {
        self.show(format_args!("{}  {who:<10} {}", self.time(), visible(words.trim())));
    }

    /// Something happens beside what is said.
    pub fn note(&self, text: &str) {
        self.show(format_args!("{}             -- {}", self.time(), visible(text)));
    }

    /// Behind the call; line breaks and all, so nothing that was said.
    pub fn show(&self, line: impl Display) {
        let mut out = self.lock();
        if out.failed.is_none() {
            out.failed = writeln!(out.writer, "{line}").and_then(|()| out.writer.flush()).err();
        }
    }

    /// Whether all of it could be shown. A reader that has seen enough, as `head` has, is no error.
    pub fn finish(&self) -> io::Result<()> {
        match self.lock().failed.take() {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    fn time(&self) -> String {
        let ms = self.pace.elapsed_ms();
        format!("{:02}:{:02}.{:03}", ms / 60_000, ms / 1_000 % 60, ms % 1_000)
    }

    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of what happens inside the session, tools and summaries are shown.
pub struct ShowsEvents(pub Arc<Screen>);

impl Observer for ShowsEvents {
    fn observe(&self, event: &CallEvent) {
        match event {
            CallEvent::ToolFinished { outcome, after_ms, .. } => {
                self.0.note(&format!("the tool is done: {outcome:?}, after {after_ms} ms"));
            }
            CallEvent::SummaryStarted { messages } => {
                self.0.note(&format!("a summary of {messages} messages is begun; the call goes on"));
            }
            CallEvent::SummaryEnded { outcome: SummaryOutcome::Applied, usage, .. } => {
                self.0.note(&format!("the summary is applied; it took {} tokens", usage.output_tokens));
            }
            CallEvent::SummaryEnded { outcome, .. } => self.0.note(&format!("no summary of the model: {outcome:?}")),
            _ => {}
        }
    }
}
