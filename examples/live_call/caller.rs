//! [`Caller`]: the person at the other end of the line, scripted or at the terminal.

use std::future::pending;
use std::io::BufRead;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::pace::Pace;
use crate::script::{CALL, Turn, When};

/// An act of the caller.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// The caller speaks for `takes_ms` milliseconds.
    Says {
        words: String,
        takes_ms: u64,
    },
    HangsUp,
}

/// The person at the other end of the line.
pub trait Caller {
    /// Returns the next act, after the assistant finished.
    async fn speaks(&mut self) -> Act;

    /// Returns the next act if the caller interrupts the assistant after `words_heard` words. Otherwise it never returns.
    /// Dropping the future loses nothing.
    async fn breaks_in(&mut self, words_heard: usize) -> Act;
}

/// The scripted caller.
pub struct Scripted {
    turns: std::slice::Iter<'static, Turn>,
    pace: Pace,
}

/// The time that a caller thinks before an answer, in milliseconds.
const THINKS_MS: u64 = 600;
/// The caller speaks as fast as the assistant.
const BYTES_PER_S: u64 = 15;

impl Scripted {
    pub fn new(pace: Pace) -> Self {
        Self { turns: CALL.iter(), pace }
    }

    fn next(&mut self) -> Act {
        self.turns.next().map_or(Act::HangsUp, |turn| {
            let takes_ms = turn.says.len() as u64 * 1_000 / BYTES_PER_S;
            Act::Says { words: turn.says.to_owned(), takes_ms }
        })
    }
}

impl Caller for Scripted {
    async fn speaks(&mut self) -> Act {
        self.pace.wait(THINKS_MS).await;
        self.next()
    }

    async fn breaks_in(&mut self, words_heard: usize) -> Act {
        match self.turns.as_slice().first().map(|turn| turn.when) {
            Some(When::Heard(words)) if words_heard >= words => self.next(),
            _ => pending().await,
        }
    }
}

/// A caller whose words are typed, one line at a time.
pub struct Typed(UnboundedReceiver<String>);

impl Typed {
    pub fn new(lines: UnboundedReceiver<String>) -> Self {
        Self(lines)
    }

    pub fn at_the_terminal() -> Self {
        let (lines, received) = unbounded_channel();
        // A thread instead of a task, because a blocking read cannot be cancelled and would keep the runtime alive.
        std::thread::spawn(move || {
            let typed = std::io::stdin().lock().lines().map_while(Result::ok);
            typed.map_while(|line| lines.send(line).ok()).for_each(drop);
        });
        Self::new(received)
    }
}

impl Caller for Typed {
    async fn speaks(&mut self) -> Act {
        self.0.recv().await.map_or(Act::HangsUp, act)
    }

    async fn breaks_in(&mut self, _words_heard: usize) -> Act {
        match self.0.recv().await {
            Some(line) => act(line),
            // After the end of the input, the caller still listens.
            None => pending().await,
        }
    }
}

fn act(line: String) -> Act {
    if line.trim().is_empty() { Act::HangsUp } else { Act::Says { words: line, takes_ms: 0 } }
}
