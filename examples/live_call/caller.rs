//! [`Caller`]: who is at the other end of the line, as it was written or at the terminal.

use std::future::pending;
use std::io::BufRead;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::pace::Pace;
use crate::script::{CALL, Turn, When};

/// What a caller does.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Says something, which takes so long.
    Says {
        words: String,
        takes_ms: u64,
    },
    HangsUp,
}

/// Who is at the other end of the line.
pub trait Caller {
    /// What the caller does next, in the quiet.
    async fn speaks(&mut self) -> Act;

    /// What the caller does while the assistant speaks, of whom so many words were heard: mostly nothing, and this never
    /// comes back. Nothing is lost if it is dropped.
    async fn breaks_in(&mut self, words_heard: usize) -> Act;
}

/// The caller of the script.
pub struct Scripted {
    turns: std::slice::Iter<'static, Turn>,
    pace: Pace,
}

/// How long a caller thinks before an answer.
const THINKS_MS: u64 = 600;
/// A caller speaks as fast as the assistant.
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

/// A caller whose words are typed, a line each.
pub struct Typed(UnboundedReceiver<String>);

impl Typed {
    pub fn new(lines: UnboundedReceiver<String>) -> Self {
        Self(lines)
    }

    pub fn at_the_terminal() -> Self {
        let (lines, received) = unbounded_channel();
        // Not a task: reading a terminal cannot be stopped, and the end of the process does not wait for a thread.
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
            // Whoever has nothing more to type may still listen.
            None => pending().await,
        }
    }
}

fn act(line: String) -> Act {
    if line.trim().is_empty() { Act::HangsUp } else { Act::Says { words: line, takes_ms: 0 } }
}
