//! The methods of [`LogWriter`] with which an operator lists, repairs, stores and discards dead letters.

use std::collections::BTreeSet;

use super::LogWriter;
use super::blocking::run_blocking;
use super::flush::Reply;
use super::shared::{Command, Listed};
use crate::log::{CallId, DeadLetter, LogError, LogErrorKind, RecordKey, WriterLease};
use crate::message::Record;

/// The maximum number of dead letters that are read from the spool at once.
const MAX_FROM_SPOOL: usize = 1_000;

impl LogWriter {
    /// Returns the dead letters of one call, or of all calls. Of all calls, it returns at most 1,000 from the spool.
    ///
    /// A dead letter does not block its call: later records are stored, and the call can be resumed without it.
    ///
    /// Returns an error if the spool cannot be read.
    pub async fn dead_letters(&self, call_id: Option<&CallId>) -> Result<Vec<DeadLetter>, LogError> {
        let of = call_id.cloned();
        let (mut letters, discarded) = match self.ask(|reply| Command::ReadDeadLetters { call_id: of, reply }).await {
            Reply::Received(letters) => letters,
            Reply::Ended | Reply::Late => Listed::default(),
        };
        if let Some(spool) = self.spool.clone() {
            let of = call_id.cloned();
            let in_spool = run_blocking(spool, move |spool| match of {
                Some(call_id) => spool.dead_letters_of(&call_id),
                None => spool.dead_letters(MAX_FROM_SPOOL),
            });
            let in_memory: BTreeSet<_> = letters.iter().map(key_of).collect();
            for letter in in_spool.await? {
                let key = key_of(&letter);
                // A header or an end is in memory, too, and so is a record whose commit is not applied yet.
                let is_known =
                    if letter.record.is_some() { in_memory.contains(&key) } else { letters.contains(&letter) };
                if !is_known && !discarded.contains(&key) {
                    letters.push(letter);
                }
            }
        }
        Ok(letters)
    }

    /// Stores the record of a dead letter, as it is or repaired, and removes the dead letter. To repair it, set
    /// [`record`](DeadLetter::record) to a changed record with the same position, id and revision, for example with
    /// less custom data.
    ///
    /// The record is redacted, and stored with the lease of the newest handle of the call in this process. If there is
    /// none, [resume](LogWriter::resume) the call first. A record of an earlier writer is stored at the position that
    /// the resumed conversation [left out](crate::MessagesManager::left_out). That conversation does not change; the
    /// next one that is restored has the record. The method tries once. If it fails, the dead letter stays.
    ///
    /// Returns [`NotOpened`](LogErrorKind::NotOpened) if this process has no handle of the call,
    /// [`Fenced`](LogErrorKind::Fenced) if another process has taken the call over, [`Refused`](LogErrorKind::Refused)
    /// if the record's position is taken or the record cannot be redacted, and the errors of
    /// [`put_record`](crate::log::CallLog::put_record). A summary of an earlier writer is refused, because it may hide
    /// newer messages.
    pub async fn retry_dead_letter(&self, letter: DeadLetter) -> Result<(), LogError> {
        let DeadLetter { call_id, record, .. } = letter;
        let Some(record) = record else {
            let text = format!("a dead letter of call {call_id} is no record; open or finish the call again");
            return Err(LogError::new(LogErrorKind::Refused, text));
        };
        let of = call_id.clone();
        let prepared = match self.ask(|reply| Command::PrepareRetry { call_id: of, record, reply }).await {
            Reply::Received(prepared) => prepared,
            Reply::Ended | Reply::Late => Err(LogError::stopped()),
        };
        let (call, lease, record) = prepared?;
        let stored = self.put_owned(&lease, &record).await.map_err(|error| match error.kind() {
            // This writer owns the call, so the other message is not that of a second writer.
            LogErrorKind::Conflict => place_is_taken(&call_id),
            _ => error,
        });
        self.noting_erasure(&call_id, stored)?;
        // If the task has ended, the spool keeps the dead letter, and a retry finds the record in the log.
        let _ = self.commands.send(Command::Retried(call, record));
        Ok(())
    }

    /// Puts a record at a position that may have no fence, so only the header shows whether this writer still owns the
    /// call. The check after the put detects a takeover that may not have read the record.
    async fn put_owned(&self, lease: &WriterLease, record: &Record) -> Result<(), LogError> {
        self.check_ownership(lease).await?;
        self.log.put_record(lease, record).await?;
        self.check_ownership(lease).await
    }

    async fn check_ownership(&self, lease: &WriterLease) -> Result<(), LogError> {
        let call_id = lease.call_id();
        let header = self.log.read_header(call_id).await?.ok_or_else(|| LogError::not_opened(call_id))?;
        header.tenure().check(lease)
    }

    /// Removes dead letters for good. Discarding a dead letter without a record discards the refused header and end of its call.
    pub fn discard_dead_letters<'l>(&self, letters: impl IntoIterator<Item = &'l DeadLetter>) {
        let discarded = letters.into_iter().map(key_of);
        // If the task has ended, the spool keeps its dead letters.
        let _ = self.commands.send(Command::Discard(discarded.collect()));
    }
}

/// The error for a record whose place the conversation has passed, or given to another message.
pub(super) fn place_is_taken(call_id: &CallId) -> LogError {
    let text = format!(
        "a dead letter of call {call_id} is not stored: the call was resumed since, and continues without this record; \
         discard it"
    );
    LogError::new(LogErrorKind::Refused, text)
}

/// The call and the record of a dead letter. `None` is the header and the end of the call.
fn key_of(letter: &DeadLetter) -> (CallId, Option<RecordKey>) {
    (letter.call_id.clone(), letter.record.as_ref().map(RecordKey::of))
}
