//! [`Outbox`]: the messages of a call to its client, which survive the socket.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};
use verbale::clock::{Clock, SystemClock};

use super::protocol::{ServerEvent, ToClient};

/// A client that was away for longer reads the conversation instead.
const MAX_MESSAGES: usize = 4_096;

/// The last messages of a call, in their order.
pub struct Outbox {
    kept: Mutex<Kept>,
    last: watch::Sender<u64>,
    /// Takes events that must follow the words of the running answer.
    speaking: Mutex<Option<mpsc::UnboundedSender<ServerEvent>>>,
}

/// An answer that is passed on. When it is dropped, the events that still wait for its words are added.
pub struct Speaking {
    outbox: Arc<Outbox>,
    events: mpsc::UnboundedReceiver<ServerEvent>,
}

#[derive(Default)]
struct Kept {
    messages: VecDeque<Arc<str>>,
    /// The number of the newest message; 0 before the first.
    last: u64,
    is_ended: bool,
}

/// Messages for a client.
pub struct Missed {
    pub messages: Vec<Arc<str>>,
    pub last: u64,
    /// Whether older messages are no longer there.
    pub has_gap: bool,
    /// Whether no message will follow.
    pub is_ended: bool,
}

impl Outbox {
    pub fn new() -> Self {
        Self { kept: Mutex::default(), last: watch::Sender::new(0), speaking: Mutex::default() }
    }

    /// Adds a message. Nothing follows the end of the call.
    pub fn push(&self, event: &ServerEvent) {
        let mut kept = self.kept();
        if kept.is_ended {
            return;
        }
        let seq = kept.last + 1;
        // Strings and numbers always become JSON.
        let Ok(text) = serde_json::to_string(&ToClient { seq, at_ms: SystemClock.now_ms(), event }) else { return };
        kept.last = seq;
        kept.is_ended |= matches!(event, ServerEvent::Ended { .. });
        kept.messages.push_back(text.into());
        if kept.messages.len() > MAX_MESSAGES {
            kept.messages.pop_front();
        }
        drop(kept);
        self.last.send_replace(seq);
    }

    /// Adds an event after the words that the running answer has so far, or now if none is running.
    pub fn push_after_words(&self, event: ServerEvent) {
        let unsent = match self.speaking().as_ref() {
            Some(answer) => answer.send(event).err().map(|error| error.0),
            None => Some(event),
        };
        unsent.iter().for_each(|event| self.push(event));
    }

    /// Notes that an answer is passed on. It reads the events that must follow its words.
    pub fn speak(self: &Arc<Self>) -> Speaking {
        let (sender, events) = mpsc::unbounded_channel();
        *self.speaking() = Some(sender);
        Speaking { outbox: self.clone(), events }
    }

    /// Tells the client which of its messages the log has, if there are any.
    pub fn stored(&self, event_ids: Vec<String>) {
        if !event_ids.is_empty() {
            self.push(&ServerEvent::Stored { event_ids });
        }
    }

    /// Returns the messages after a number.
    pub fn after(&self, seq: u64) -> Missed {
        let kept = self.kept();
        let first = kept.last + 1 - kept.messages.len() as u64;
        let skipped = (seq + 1).saturating_sub(first);
        let messages = kept.messages.iter().skip(usize::try_from(skipped).unwrap_or(usize::MAX)).cloned().collect();
        Missed { messages, last: kept.last, has_gap: seq + 1 < first, is_ended: kept.is_ended }
    }

    /// Returns whether the call has ended, so that no message will follow.
    pub fn is_ended(&self) -> bool {
        self.kept().is_ended
    }

    /// Returns the number of the newest message; 0 before the first.
    pub fn last(&self) -> u64 {
        self.kept().last
    }

    /// Returns the number of the newest message, and its changes.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn speaking(&self) -> MutexGuard<'_, Option<mpsc::UnboundedSender<ServerEvent>>> {
        self.speaking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Speaking {
    /// Adds the next event that waits, once there is one. Cancel-safe.
    pub async fn push_next(&mut self) {
        match self.events.recv().await {
            Some(event) => self.outbox.push(&event),
            // Another answer takes them.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Speaking {
    fn drop(&mut self) {
        self.events.close();
        while let Ok(event) = self.events.try_recv() {
            self.outbox.push(&event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_follows_the_words_before_it_also_if_the_answer_is_dropped() {
        let outbox = Arc::new(Outbox::new());
        outbox.push_after_words(ServerEvent::BargedIn {});
        assert_eq!(outbox.last(), 1);
        let answer = outbox.speak();
        outbox.push_after_words(ServerEvent::BargedIn {});
        assert_eq!(outbox.last(), 1, "it waits for the words");
        outbox.push(&ServerEvent::Sentence { speech: "1".to_owned(), text: "One moment.".to_owned() });
        drop(answer);
        assert_eq!(outbox.last(), 3);
        assert!(outbox.after(1).messages.first().is_some_and(|first| first.contains("One moment.")));
        outbox.push_after_words(ServerEvent::BargedIn {});
        assert_eq!(outbox.last(), 4);
    }

    #[test]
    fn client_gets_what_it_missed_or_learns_of_a_gap() {
        let outbox = Outbox::new();
        let numbers = |missed: &Missed| -> Vec<u64> {
            let seq =
                |text: &Arc<str>| serde_json::from_str::<serde_json::Value>(text).unwrap()["seq"].as_u64().unwrap();
            missed.messages.iter().map(seq).collect()
        };
        assert!(outbox.after(0).messages.is_empty() && !outbox.after(0).has_gap);
        for _ in 0..5 {
            outbox.push(&ServerEvent::BargedIn {});
        }
        assert_eq!(numbers(&outbox.after(0)), [1, 2, 3, 4, 5]);
        assert_eq!(numbers(&outbox.after(3)), [4, 5]);
        assert!(outbox.after(5).messages.is_empty() && outbox.after(9).messages.is_empty());
        for _ in 0..MAX_MESSAGES {
            outbox.push(&ServerEvent::BargedIn {});
        }
        assert!(outbox.after(4).has_gap && !outbox.after(5).has_gap);
        assert_eq!(outbox.after(4).messages.len(), MAX_MESSAGES);
        assert_eq!((outbox.after(0).last, numbers(&outbox.after(5))[0]), (MAX_MESSAGES as u64 + 5, 6));
        outbox.push(&ServerEvent::Ended { reason: "hangup".to_owned(), is_resumable: false });
        outbox.push(&ServerEvent::BargedIn {});
        let ended = outbox.after(MAX_MESSAGES as u64 + 5);
        assert!(ended.is_ended && ended.messages.len() == 1, "nothing follows the end");
    }
}
