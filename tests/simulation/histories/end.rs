//! The end of a history: the faults stop, and everything recovers by itself.

use std::time::Duration;

use verbale::log::{CallChange, CallEnd, Day, LogErrorKind};
use verbale::{LastMessage, PlainMessage};

use super::check;
use super::world::World;
use crate::dynamo::FaultPlan;
use crate::letters::take_dead_letters;

/// Longer than the longest wait of a writer after an operator error.
const RECOVERY: Duration = Duration::from_secs(600);

const DAY_MS: i64 = 24 * 3_600_000;

impl World {
    pub async fn end(&mut self) {
        self.trace.say("all faults stop");
        self.dynamo.set_plan(FaultPlan::none());
        for process in 0..self.processes.len() {
            self.fill_disk(process, None);
        }
        self.dynamo.settle().await;
        tokio::time::sleep(RECOVERY).await;
        // The SDK corrects its clock after the first request.
        let _ = self.log.read_call(&self.calls[0].id).await;
        self.find_lost_calls();
        for index in 0..self.calls.len() {
            if std::mem::take(&mut self.calls[index].is_held) {
                // The release fails if the call was never opened, which is harmless.
                let _ = self.log.change_call(&self.calls[index].id, &CallChange::Release).await;
            }
            if self.calls[index].is_erased {
                self.learn_erasure(index).await;
            } else if self.calls[index].is_erasing {
                let writer = self.processes[self.calls[index].home].writer.clone();
                // The clock may step back at this moment.
                while let Err(error) = writer.erase(&self.calls[index].id).await {
                    assert!(matches!(error.kind(), LogErrorKind::Unavailable | LogErrorKind::NeedsOperator), "{error}");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                check::forgotten(self, self.calls[index].home, index);
                self.learn_erasure(index).await;
            } else {
                self.close(index).await;
            }
        }
        for process in 0..self.processes.len() {
            self.drain(process).await;
        }
        for index in 0..self.calls.len() {
            check::stored(self, index).await;
        }
        self.sweep().await;
        self.take_dead_letters().await;
    }

    /// Tells each process that a call is erased, by resuming it there. Afterwards no spool has anything of the call.
    async fn learn_erasure(&mut self, index: usize) {
        for process in 0..self.processes.len() {
            let (writer, id) = (self.processes[process].writer.clone(), self.calls[index].id.clone());
            let letters = writer.dead_letters(Some(&id)).await.unwrap().len();
            loop {
                let Err(error) = writer.resume::<PlainMessage>(&id, RECOVERY).await else {
                    panic!("call {id} was erased, and is resumed");
                };
                if error.kind() == LogErrorKind::Erased {
                    break;
                }
                // The clock may step back at this moment.
                assert!(matches!(error.kind(), LogErrorKind::Unavailable | LogErrorKind::NeedsOperator), "{error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            check::forgotten(self, process, index);
            assert_eq!(writer.dead_letters(Some(&id)).await.unwrap(), [], "dead letters of the erased call {id}");
            self.trace.count("dead letter of an erased call forgotten", letters as u64);
        }
    }

    /// Sweeps each day on which a call may have been erased.
    async fn sweep(&mut self) {
        let now_ms = self.dynamo.clock().true_now_ms();
        let contents = |world: &Self| {
            let keys = world.dynamo.items("verbale").into_keys();
            keys.filter(|(partition, _)| partition.starts_with("CONTENT#") || partition.starts_with("OWNER#")).count()
        };
        let before = contents(self);
        // The clock of a process may be an hour late.
        let mut at_ms = now_ms - self.dynamo.clock().elapsed().as_millis() as i64 - 3_600_000;
        while at_ms < now_ms + DAY_MS {
            self.log.sweep(Day::of_ms(at_ms)).await.unwrap();
            at_ms += DAY_MS;
        }
        check::swept(self);
        self.trace.count("use of an erased call swept", (before - contents(self)) as u64);
    }

    async fn close(&mut self, index: usize) {
        for _ in 0..4 {
            if self.calls[index].owner.is_some() {
                break;
            }
            self.resume(index).await;
            self.drain(self.calls[index].home).await;
        }
        let Some(owner) = &self.calls[index].owner else {
            panic!("call {} is not resumed", self.calls[index].id);
        };
        if owner.call_end.is_some() && owner.writer.is_some() {
            // Submits changes after the call end that found no room, or were excluded as the last message.
            for _ in 0..20 {
                self.calls[index].submit(None, LastMessage::Include, &self.trace);
                self.drain(self.calls[index].home).await;
            }
            // A task without a spool dies with an end that it accepted, and a service then finishes again.
            for _ in 0..3 {
                let call_end = self.calls[index].owner.as_ref().and_then(|owner| owner.call_end.clone());
                if let Some(call_end) = call_end {
                    self.finish_with(index, call_end).await;
                }
                self.drain(self.calls[index].home).await;
            }
        }
        let Some(owner) = &self.calls[index].owner else { return };
        if owner.call_end.is_none() {
            let call_end = CallEnd::of(&owner.manager, self.dynamo.clock().true_now_ms(), "hangup").unwrap();
            for _ in 0..20 {
                self.finish_with(index, call_end.clone()).await;
                if self.calls[index].owner.as_ref().is_some_and(|owner| owner.call_end.is_some()) {
                    return;
                }
                // Dead letters use the writer's memory until they are taken.
                self.drain(self.calls[index].home).await;
            }
            panic!("call {} finds no room", self.calls[index].id);
        }
    }

    /// Flushes a process, stores one of its dead letters after all, sometimes, and takes the others.
    async fn drain(&mut self, process: usize) {
        let unstored = self.processes[process].writer.flush(RECOVERY).await;
        let waiting: Vec<_> = unstored.iter().filter(|unstored| !unstored.is_dead_letter).collect();
        assert!(waiting.is_empty(), "process {process} makes no progress: {waiting:?}");
        if self.dice.chance(0.3) {
            self.retry_letter_of(process).await;
        }
        let writer = self.processes[process].writer.clone();
        loop {
            let taken = take_dead_letters(&writer).await.unwrap();
            if taken.is_empty() {
                break;
            }
            self.trace.say(format!("process {process} returns {} dead letters", taken.len()));
            self.trace.count("dead letter", taken.len() as u64);
            self.dead_letters.extend(taken);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        check::flushed(self, process, &unstored);
    }

    /// Asserts that each dead letter has an expected reason, and that nothing else is pending.
    async fn take_dead_letters(&mut self) {
        for dead_letter in &self.dead_letters {
            let is_large = dead_letter.reason.contains("keep custom data small");
            let call = self.calls.iter().find(|call| call.id == dead_letter.call_id).unwrap();
            let is_expected = is_large && call.has_large || dead_letter.reason.contains("another process has resumed");
            assert!(is_expected, "unexpected dead letter: {dead_letter:?}");
        }
        for call in &mut self.calls {
            let Some(owner) = call.owner.as_mut().filter(|owner| owner.writer.is_some()) else { continue };
            let has_dead_letters = self.dead_letters.iter().any(|letter| letter.call_id == call.id);
            if let Some(writer) = &owner.writer
                && !has_dead_letters
                && !call.is_erasing
            {
                writer.acknowledge(&mut owner.manager);
                let left = owner.manager.changes(verbale::LastMessage::Include);
                assert!(left.is_empty(), "call {}: all is stored, but not acknowledged by its manager", call.id);
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        for (index, process) in self.processes.iter().enumerate() {
            let status = process.writer.status();
            check::balanced(&status);
            assert_eq!((status.queued, status.spooled, status.dead_letters), (0, 0, 0), "{status:?}");
            assert_eq!((status.bytes, status.lag, status.trouble.len()), (0, Duration::ZERO, 0), "{status:?}");
            if let Some(spool) = &process.spool {
                assert!(format!("{spool:?}").contains("pending_bytes: 0, dead_letter_bytes: 0,"), "{spool:?}");
            }
            self.leave(index);
        }
    }
}
