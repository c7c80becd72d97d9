//! The dead letters of a history: taken, and stored after all.

use verbale::Record;
use verbale::log::LogErrorKind;

use super::check::key_of;
use super::words;
use super::world::World;
use crate::letters::take_dead_letters;

impl World {
    /// Takes the dead letters of a process, also of calls that it has not read from its spool.
    pub async fn take_letters_of(&mut self, process: usize) {
        let writer = self.processes[process].writer.clone();
        // The disk may be full.
        let Ok(taken) = take_dead_letters(&writer).await else { return };
        let again = take_dead_letters(&writer).await.unwrap_or_default();
        let repeated = again.iter().find(|letter| taken.contains(letter));
        assert!(repeated.is_none(), "process {process} returns a dead letter that was taken: {repeated:?}");
        self.trace.say(format!("process {process} returns {} dead letters", taken.len() + again.len()));
        self.trace.count("dead letter taken early", (taken.len() + again.len()) as u64);
        self.dead_letters.extend(taken.into_iter().chain(again));
    }

    /// Stores a dead letter of a process after all, with short texts.
    pub async fn retry_letter_of(&mut self, process: usize) {
        let writer = self.processes[process].writer.clone();
        let Ok(mut letters) = writer.dead_letters(None).await else { return };
        letters.retain(|letter| letter.record.is_some());
        if letters.is_empty() {
            return;
        }
        let mut letter = letters.swap_remove(self.dice.below(letters.len() as u64) as usize);
        let repaired: Option<Record> = letter.record.as_ref().map(words::shortened);
        letter.record.clone_from(&repaired);
        let (call_id, record) = (letter.call_id.clone(), repaired.unwrap());
        let retried = writer.retry_dead_letter(letter.clone()).await;
        self.trace.say(format!("process {process} retries a dead letter of call {call_id}: {retried:?}"));
        let call = self.calls.iter_mut().find(|call| call.id == call_id).unwrap();
        // A retry that fails may have stored the record.
        call.has_retried = true;
        call.accepted.entry(key_of(&record)).or_default().push(record.clone());
        match retried {
            Ok(()) => {
                self.trace.count("dead letter stored after all", 1);
                call.promise(&[(record.position(), (record.id(), record.revision()))].into());
                call.retried.push(record);
                self.dead_letters.push(letter);
            }
            Err(error) => {
                use LogErrorKind::{Erased, Fenced, NeedsOperator, NotOpened, Refused, Unavailable};
                self.trace.count("dead letter refused again", u64::from(matches!(error.kind(), Fenced | Refused)));
                let is_expected = matches!(error.kind(), Fenced | NeedsOperator | NotOpened | Refused | Unavailable);
                assert!(is_expected || error.kind() == Erased && call.is_erasing, "{error}");
            }
        }
    }
}
