//! [`Schedule`]: messages that wait for their time. They are in memory: a restart forgets them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;
use verbale::clock::Clock;

use super::message::Message;
use crate::serve::error::ApiError;

/// The longest sleep, after which the clock is read again. It may have been set.
const NAP: Duration = Duration::from_secs(10);
/// The pause before an event is tried again that could not be applied now.
const RETRY_MS: i64 = 2_000;
/// The most events that wait, and their most bytes.
const MAX_EVENTS: usize = 10_000;
const MAX_BYTES: usize = 64 << 20;
/// The most events that are kept after they could not be applied.
const MAX_FAILED: usize = 100;

/// A message that waits for its time.
pub struct Pending {
    pub event_id: String,
    pub message: Message,
}

/// The events that wait, by their time and the order in which they came.
pub struct Schedule {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    pending: BTreeMap<(i64, u64), Pending>,
    added: u64,
    bytes: usize,
    failed: VecDeque<(String, String)>,
}

impl Schedule {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default(), changed: Notify::new() }
    }

    /// Adds an event.
    ///
    /// Returns an error if too much waits.
    pub fn add(&self, at_ms: i64, event: Pending) -> Result<(), ApiError> {
        let mut state = self.state();
        let bytes = state.bytes + size(&event);
        if state.pending.len() >= MAX_EVENTS || bytes > MAX_BYTES {
            return Err(ApiError::busy("too many events wait for their time"));
        }
        let number = state.added;
        (state.added, state.bytes) = (number + 1, bytes);
        state.pending.insert((at_ms, number), event);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Returns the events that wait, and the last ones that could not be applied. The words are left out.
    pub fn list(&self) -> Value {
        let state = self.state();
        let pending = state.pending.iter().map(|((at_ms, _), event)| {
            json!({
                "event_id": event.event_id, "scheduled_time": moment(*at_ms), "modality": "chat",
                "conversation_id": event.message.call_id.to_string(), "status": "pending",
            })
        });
        let failed =
            state.failed.iter().map(|(id, error)| json!({ "event_id": id, "status": "failed", "error": error }));
        json!({ "pending": pending.collect::<Vec<_>>(), "failed": failed.collect::<Vec<_>>() })
    }

    /// Applies each event at its time, one after another. An event is tried again as long as the server cannot take it.
    pub async fn run<F: Future<Output = Result<(), ApiError>>>(&self, apply: impl Fn(Message) -> F) {
        loop {
            let Some((at_ms, event)) = self.next_due().await else { continue };
            match apply(event.message.clone()).await {
                Ok(()) => {}
                // There was room for it before.
                Err(error) if error.status.is_server_error() => drop(self.add(at_ms.max(self.retry_ms()), event)),
                Err(error) => {
                    let mut state = self.state();
                    state.failed.push_back((event.event_id, error.text));
                    if state.failed.len() > MAX_FAILED {
                        state.failed.pop_front();
                    }
                }
            }
        }
    }

    fn retry_ms(&self) -> i64 {
        self.clock.now_ms().saturating_add(RETRY_MS)
    }

    /// Waits for the next event, and removes it. Returns `None` if something has changed first.
    async fn next_due(&self) -> Option<(i64, Pending)> {
        let first = self.state().pending.first_key_value().map(|((at_ms, _), _)| *at_ms);
        let left_ms = first.map(|at_ms| at_ms.saturating_sub(self.clock.now_ms()));
        match left_ms {
            Some(left_ms) if left_ms <= 0 => {
                let mut state = self.state();
                let ((at_ms, _), event) = state.pending.pop_first()?;
                state.bytes = state.bytes.saturating_sub(size(&event));
                Some((at_ms, event))
            }
            Some(left_ms) => {
                let nap = Duration::from_millis(left_ms.unsigned_abs()).min(NAP);
                tokio::select! {
                    () = sleep(nap) => {}
                    () = self.changed.notified() => {}
                }
                None
            }
            None => {
                self.changed.notified().await;
                None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the size of an event, about.
fn size(event: &Pending) -> usize {
    event.message.json.to_string().len()
}

/// Formats a time, as messages have it: with milliseconds, if there are any.
pub fn moment(at_ms: i64) -> String {
    // A time out of range is the first one.
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    if at_ms % 1_000 == 0 { format!("{at:.0}") } else { format!("{at:.3}") }
}

/// Reads a time.
pub fn read_moment(text: &str) -> Result<i64, ApiError> {
    let at: Timestamp = text.parse().map_err(|_| ApiError::invalid("a time is written as 2024-03-15T10:30:00Z"))?;
    Ok(at.as_millisecond())
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// Follows tokio's clock.
    #[derive(Debug)]
    struct Paused(Instant);

    impl Clock for Paused {
        fn now_ms(&self) -> i64 {
            1_800_000_000_000 + i64::try_from(self.0.elapsed().as_millis()).unwrap()
        }
    }

    fn event(id: &str, conversation: &str) -> Pending {
        let data = json!({ "role": "user", "content": "Secret words.", "conversation_id": conversation });
        Pending { event_id: id.to_owned(), message: Message::read(data, 1_800_000_000_000).unwrap() }
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_applied_at_their_time_in_order() {
        let clock = Arc::new(Paused(Instant::now()));
        let schedule = Arc::new(Schedule::new(clock.clone()));
        let start = clock.now_ms();
        let applied: Arc<Mutex<Vec<(String, i64)>>> = Arc::default();
        let (running, seen, now) = (schedule.clone(), applied.clone(), clock.clone());
        let task = tokio::spawn(async move {
            let is_busy = Mutex::new(true);
            let apply = |message: Message| {
                let id = message.call_id.to_string();
                std::future::ready(if id == "late" && std::mem::take(&mut *is_busy.lock().unwrap()) {
                    Err(ApiError::busy("not now"))
                } else if id == "wrong" {
                    Err(ApiError::conflict("there is one"))
                } else {
                    seen.lock().unwrap().push((id, now.now_ms() - start));
                    Ok(())
                })
            };
            running.run(apply).await;
        });
        for (at_ms, id) in [(60_000, "late"), (1_000, "soon"), (1_000, "next"), (2_000, "wrong")] {
            schedule.add(start + at_ms, event(id, id)).unwrap();
        }
        let listed = schedule.list();
        assert!(listed["pending"].as_array().unwrap().len() == 4 && !listed.to_string().contains("Secret"), "{listed}");
        sleep(Duration::from_secs(120)).await;
        let order = [("soon", 1_000), ("next", 1_000), ("late", 62_000)].map(|(id, at_ms)| (id.to_owned(), at_ms));
        assert_eq!(*applied.lock().unwrap(), order);
        let failed = json!([{ "event_id": "wrong", "status": "failed", "error": "there is one" }]);
        assert_eq!(schedule.list(), json!({ "pending": [], "failed": failed }));
        task.abort();
    }

    #[test]
    fn times_have_the_form_of_messages() {
        for (at_ms, text) in
            [(1_710_498_600_000, "2024-03-15T10:30:00Z"), (1_710_498_600_920, "2024-03-15T10:30:00.920Z")]
        {
            assert_eq!((moment(at_ms).as_str(), read_moment(text).unwrap()), (text, at_ms));
            let data = json!({ "role": "user", "content": "Hi." });
            assert_eq!(Message::read(data, at_ms).unwrap().json["timestamp"], text);
        }
    }

    #[test]
    fn events_that_wait_are_limited() {
        let schedule = Schedule::new(Arc::new(verbale::clock::ManualClock::new(0)));
        for number in 0..MAX_EVENTS {
            schedule.add(number as i64, event("one", "one")).unwrap();
        }
        assert_eq!(schedule.add(0, event("one", "one")).unwrap_err().status.as_u16(), 503);
    }
}
