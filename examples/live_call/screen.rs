//! [`Screen`]: prints the events of a call, one line each.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use verbale::conversation::{CallEvent, Observer, SummaryOutcome};

use crate::pace::Pace;
use crate::text::visible;

/// Prints one line for each event. Escapes the words of caller and model.
pub struct Screen {
    pace: Pace,
    out: Mutex<Out>,
}

struct Out {
    writer: Box<dyn Write + Send>,
    /// The first error. The call continues without output and is logged to its end.
    failed: Option<io::Error>,
}

impl Screen {
    pub fn new(pace: Pace, writer: impl Write + Send + 'static) -> Self {
        Self { pace, out: Mutex::new(Out { writer: Box::new(writer), failed: None }) }
    }

    /// Prints words that somebody begins to say.
    pub fn said(&self, who: &str, words: &str) {
        self.show(format_args!("{}  {who:<10} {}", self.time(), visible(words.trim())));
    }

    /// Prints an event.
    pub fn note(&self, text: &str) {
        self.show(format_args!("{}             -- {}", self.time(), visible(text)));
    }

    /// Prints text as it is, with line breaks. Do not pass unescaped words of a call.
    pub fn show(&self, line: impl Display) {
        let mut out = self.lock();
        if out.failed.is_none() {
            out.failed = writeln!(out.writer, "{line}").and_then(|()| out.writer.flush()).err();
        }
    }

    /// Returns the first output error. A reader that closes the pipe, as `head` does, is not an error.
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

/// Prints the tools and summaries of a session.
pub struct ShowsEvents(pub Arc<Screen>);

impl Observer for ShowsEvents {
    fn observe(&self, _: &verbale::log::CallId, event: &CallEvent) {
        match event {
            CallEvent::ToolFinished { outcome, after_ms, .. } => {
                self.0.note(&format!("the tool finished: {outcome:?}, after {after_ms} ms"));
            }
            CallEvent::SummaryStarted { messages } => {
                self.0.note(&format!("a summary of {messages} messages starts; the call continues"));
            }
            CallEvent::SummaryEnded { outcome: SummaryOutcome::Applied, usage, .. } => {
                self.0.note(&format!("the summary is applied; it has {} tokens", usage.output_tokens));
            }
            CallEvent::SummaryEnded { outcome, .. } => self.0.note(&format!("the model wrote no summary: {outcome:?}")),
            _ => {}
        }
    }
}
