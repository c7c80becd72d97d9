//! Work that waits until the spool has committed its changes: calls, commands, erasures, and the removal of dead letters.

use std::collections::BTreeSet;

use super::Spooling;
use crate::log::spool::SpoolChange;
use crate::log::writer::WriterTask;
use crate::log::writer::call::Key;
use crate::log::writer::shared::{Command, Erased};
use crate::log::{CallId, RecordKey};

impl Spooling {
    /// The changes that are not committed yet.
    fn gathered(&self) -> impl Iterator<Item = &SpoolChange> {
        self.committing.changes.iter().chain(&self.next.changes)
    }
}

impl WriterTask {
    /// Handles a command again after the spool has finished its work.
    pub(in crate::log::writer) fn handle_later(&mut self, command: Command) {
        if let Some(spooling) = &mut self.spooling {
            spooling.later.push(command);
        }
    }

    /// Returns true if the next commits make dead letters of spooled records. If commits fail, returns false, so that
    /// no caller waits.
    pub(in crate::log::writer) fn is_burying(&self) -> bool {
        self.spooling.as_ref().is_some_and(|spooling| {
            let is_dead_letter = |change: &SpoolChange| {
                use SpoolChange::{DeadLetter, RefuseEnd, RefuseHeader};
                matches!(change, DeadLetter { .. } | RefuseHeader(..) | RefuseEnd(..))
            };
            spooling.accepts_records() && spooling.gathered().any(is_dead_letter)
        })
    }

    /// Returns true if the commit that removes an erased call from the spool is not done yet.
    pub(in crate::log::writer) fn is_forgotten(&self, call_id: &CallId) -> bool {
        let forgets = |change: &SpoolChange| matches!(change, SpoolChange::Forget(forgotten) if forgotten == call_id);
        self.spooling.iter().flat_map(Spooling::gathered).any(forgets)
    }

    /// Returns the dead letters that the spool still has, because their removal is not committed yet. `None` is the header
    /// and the end of a call.
    pub(in crate::log::writer) fn discarded(&self) -> BTreeSet<(CallId, Option<RecordKey>)> {
        let discarded = |change: &SpoolChange| match change {
            SpoolChange::Discard(call_id, key) => Some((call_id.clone(), Some(*key))),
            SpoolChange::DiscardParts(call_id) => Some((call_id.clone(), None)),
            _ => None,
        };
        self.spooling.iter().flat_map(Spooling::gathered).filter_map(discarded).collect()
    }

    /// Keeps a call busy until the queued changes are committed. Otherwise the spool would return records that were just
    /// stored.
    pub(in crate::log::writer) fn hold_until_committed(&mut self, key: &Key) {
        let (Some(spooling), Some(state)) = (&mut self.spooling, self.calls.get_mut(key)) else { return };
        if !spooling.next.changes.is_empty() {
            state.is_busy = true;
            spooling.next.held.push(key.clone());
        }
    }

    /// Keeps a call busy until the commit that starts now.
    pub(in crate::log::writer) fn hold_for_commit(&mut self, key: &Key) {
        self.hold_until_committed(key);
        self.start_commit();
    }

    /// Answers an erasure after the queued changes are committed.
    pub(in crate::log::writer) fn reply_after_commit(&mut self, erased: Erased) {
        match &mut self.spooling {
            Some(spooling) if !spooling.next.changes.is_empty() => spooling.next.erased.push(erased),
            _ => erased.send(),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn letters_are_listed_after_the_commit_that_makes_them() {
        use std::sync::Arc;

        use crate::log::writer::spooling::next_done;
        use crate::log::{LogWriter, MemoryLog, SpoolSettings, WriterSettings};
        use crate::message::Position;

        let spool = Arc::new(crate::testing::SpoolMemory::default().open(SpoolSettings::default()).unwrap());
        let settings = WriterSettings::default().with_spool(spool);
        let (_writer, mut task) = LogWriter::with_task(Arc::new(MemoryLog::default()), settings);
        let key = RecordKey { position: Position::message(0), id: crate::MessageId::from(1), revision: 1 };
        let call_id = CallId::new("CA").unwrap();
        task.queue_change(SpoolChange::DeadLetter { call_id, key, reason: "refused".into() });
        let (reply, mut listed) = tokio::sync::oneshot::channel();
        task.handle(Command::ReadDeadLetters { call_id: None, reply });
        let mut works = 0;
        while listed.try_recv().is_err() {
            assert!(task.is_burying() && works < 3);
            task.start_commit();
            let done = next_done(&mut task.spooling).await.unwrap();
            task.on_spool_done(done);
            works += 1;
        }
        assert!(works > 0 && !task.is_burying());
    }
}
