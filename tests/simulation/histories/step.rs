//! The steps of a history.

use std::time::Duration;

use verbale::log::{CallChange, CallEnd, CallLog, Durability, LogErrorKind};
use verbale::{LastMessage, PlainMessage};

use super::check;
use super::words;
use super::world::World;

const LONG: Duration = Duration::from_secs(20);

impl World {
    pub async fn step(&mut self) {
        self.find_lost_calls();
        let index = self.dice.below(self.calls.len() as u64) as usize;
        let process = self.dice.below(self.processes.len() as u64) as usize;
        match self.dice.below(200) {
            0..=119 => self.turn(index),
            120..=139 => self.learn(index),
            140..=151 => self.summarize(index),
            152..=161 => self.flush(process).await,
            162..=167 => self.kill_process(process).await,
            168..=173 => self.kill_task(process).await,
            174..=175 => self.take_over(index).await,
            176..=177 => self.dispute(index).await,
            178..=179 => self.erase(index).await,
            180..=182 => self.hold(index).await,
            183..=188 => self.finish(index).await,
            189..=191 => self.fill_disk_of(process),
            192 => self.take_letters_of(process).await,
            193..=195 => self.retry_letter_of(process).await,
            _ => self.resume_one().await,
        }
    }

    fn last_message(&mut self) -> LastMessage {
        if self.dice.chance(0.5) { LastMessage::Exclude } else { LastMessage::Include }
    }

    /// Chooses the owner that writes: sometimes a zombie.
    fn speaker(&mut self, index: usize) -> Option<usize> {
        let zombies = self.calls[index].zombies.len() as u64;
        (zombies > 0 && self.dice.chance(0.3)).then(|| self.dice.below(zombies) as usize)
    }

    fn turn(&mut self, index: usize) {
        let (speaker, last) = (self.speaker(index), self.last_message());
        let times = 1 + self.dice.below(2);
        let call = &mut self.calls[index];
        let owner = match speaker {
            Some(zombie) => call.zombies.get_mut(zombie),
            None => call.owner.as_mut(),
        };
        let Some(owner) = owner.filter(|owner| owner.call_end.is_none()) else { return };
        for _ in 0..1 + self.dice.below(3) {
            call.has_large |= words::speak(&mut owner.manager, &mut self.dice, self.manners, &call.mark);
        }
        if self.dice.chance(0.9) {
            for _ in 0..times {
                call.submit(speaker, last, &self.trace);
            }
            self.trace.say(format!("call {} submitted by {speaker:?}, {last:?}", call.id));
        }
    }

    fn learn(&mut self, index: usize) {
        let (speaker, last) = (self.speaker(index), self.last_message());
        let now_ms = self.dynamo.clock().true_now_ms();
        let call = &mut self.calls[index];
        let owner = match speaker {
            Some(zombie) => call.zombies.get_mut(zombie),
            None => call.owner.as_mut(),
        };
        let Some(owner) = owner.filter(|owner| owner.writer.is_some()) else { return };
        words::revise(&mut owner.manager, &mut self.dice, now_ms);
        call.submit(speaker, last, &self.trace);
    }

    fn summarize(&mut self, index: usize) {
        let call = &mut self.calls[index];
        let Some(owner) = call.owner.as_mut().filter(|owner| owner.call_end.is_none()) else { return };
        if self.dice.chance(0.5) {
            owner.taken.extend(owner.manager.summarizing_keeping(self.dice.below(3) as usize));
        } else if !owner.taken.is_empty() {
            let taken = owner.taken.remove(self.dice.below(owner.taken.len() as u64) as usize);
            let text = format!("{} in short", call.mark);
            // A stale summary is refused.
            let is_in = owner.manager.add_summary(text.as_str(), &taken).is_ok();
            self.trace.count("late summary", u64::from(is_in));
        }
    }

    async fn flush(&mut self, process: usize) {
        let timeout = Duration::from_millis(self.dice.below(10_000));
        let unstored = self.processes[process].writer.flush(timeout).await;
        self.trace.say(format!("process {process} flushed, {} are not stored", unstored.len()));
        check::flushed(self, process, &unstored);
    }

    async fn kill_process(&mut self, process: usize) {
        if self.processes[process].level == Durability::Accepted {
            // Records that were only accepted may be lost.
            return;
        }
        self.trace.say(format!("process {process} dies"));
        self.trace.count("process died", 1);
        let level = self.processes[process].level;
        for call in &mut self.calls {
            call.zombies.retain(|zombie| zombie.process != process);
            if let Some(owner) = call.owner.take_if(|owner| owner.process == process) {
                match level {
                    Durability::Stored => call.promise(&owner.kept(level)),
                    _ => call.promise_at_home(&owner.kept(level)),
                }
            }
        }
        self.restart(process).await;
        for index in 0..self.calls.len() {
            if self.calls[index].owner.is_none() && self.calls[index].home == process && self.dice.chance(0.7) {
                self.resume(index).await;
            }
        }
    }

    async fn kill_task(&mut self, process: usize) {
        if self.processes[process].level == Durability::Accepted {
            // Records that were only accepted may be lost.
            return;
        }
        self.trace.say(format!("the task of process {process} dies"));
        self.trace.count("task died", 1);
        let was_taken_over = self.calls.iter().flat_map(|call| &call.zombies).any(|zombie| zombie.process == process);
        self.trace.count("task of a fenced writer died", u64::from(was_taken_over));
        self.restart(process).await;
        let writer = &self.processes[process].writer;
        for call in &mut self.calls {
            let header = call.header.clone();
            // An owner that was taken over does not know it, or lost the information with the task.
            let owners = call.zombies.iter_mut().chain(&mut call.owner);
            for owner in owners.filter(|owner| owner.process == process) {
                let lease = owner.lease.clone();
                call.has_lost_task = true;
                let call_writer =
                    if lease.epoch() == 1 { writer.open(header.clone()).unwrap() } else { writer.call(lease) };
                owner.manager.take_back();
                (owner.writer, owner.is_over) = (Some(call_writer), false);
                owner.submitted.clear();
            }
        }
        for index in 0..self.calls.len() {
            let of_owner = self.calls[index].owner.as_ref().filter(|owner| owner.process == process);
            let Some(call_end) = of_owner.map(|owner| owner.call_end.clone()) else { continue };
            self.calls[index].submit(None, LastMessage::Exclude, &self.trace);
            if let Some(call_end) = call_end {
                self.finish_with(index, call_end).await;
            }
        }
    }

    async fn take_over(&mut self, index: usize) {
        self.rival();
        let rival = 1 - self.calls[index].home;
        let call = &mut self.calls[index];
        self.trace.say(format!("process {rival} takes call {} over", call.id));
        self.trace.count("call taken over", 1);
        call.move_to(rival);
        if let Some(owner) = call.owner.take() {
            self.calls[index].zombies.push(owner);
        }
        for _ in 0..2 {
            if self.resume(index).await {
                return;
            }
        }
    }

    /// A rival begins to take a call over, and dies, gives up, or succeeds before its service takes the call.
    async fn dispute(&mut self, index: usize) {
        let Some(owner) = &self.calls[index].owner else { return };
        let (of_owner, id) = (owner.process, self.calls[index].id.clone());
        self.rival();
        let writer = self.processes[1 - of_owner].writer.clone();
        let patience = Duration::from_millis(self.dice.below(4_000));
        let resume = writer.resume::<PlainMessage>(&id, if self.dice.chance(0.5) { LONG } else { patience });
        let outcome = tokio::time::timeout(patience, resume).await;
        let is_taken = matches!(outcome, Ok(Ok(_)));
        self.trace.say(format!("a rival tries to take call {id} over: {is_taken}"));
        self.trace.count("takeover died or gave up", u64::from(!is_taken));
        (self.calls[index].is_disputed, self.calls[index].was_resumed) = (true, true);
        drop(outcome);
        self.find_lost_calls();
    }

    /// Finds the owners of disputed calls that have lost them.
    pub fn find_lost_calls(&mut self) {
        let items = self.dynamo.items("verbale");
        for call in self.calls.iter_mut().filter(|call| call.is_disputed) {
            let header = items.get(&(format!("CALL#{}", call.id), "CALL".to_owned()));
            let number = |name: &str| header.and_then(|header| header.get(name)?.as_n()?.parse().ok()).unwrap_or(1);
            let (epoch, served): (u32, u32) = (number("epoch"), number("fenced"));
            let is_taking = header.is_some_and(|header| header.contains_key("taking"));
            let Some(owner) = &call.owner else { continue };
            if served != owner.served {
                call.was_resumed = true;
                call.zombies.extend(call.owner.take());
                call.promised_at_home.clear();
                self.trace.count("call lost to a dead rival", 1);
            } else if epoch > served && !is_taking && call.is_disputed {
                self.trace.count("call taken back or given up", 1);
            }
        }
    }

    async fn resume_one(&mut self) {
        let down: Vec<usize> = (0..self.calls.len()).filter(|index| self.calls[*index].owner.is_none()).collect();
        if let Some(index) = down.get(self.dice.below(down.len() as u64) as usize) {
            self.resume(*index).await;
        }
    }

    async fn erase(&mut self, index: usize) {
        if !self.dice.chance(0.5) {
            return;
        }
        // The owner is not told of an erasure by another process.
        let is_elsewhere = self.dice.chance(0.4);
        if is_elsewhere {
            self.rival();
        }
        let home = self.calls[index].home;
        let process = if is_elsewhere { 1 - home } else { home };
        let (writer, id) = (self.processes[process].writer.clone(), self.calls[index].id.clone());
        self.calls[index].is_erasing = true;
        // While the disk is full, the erasure waits until the spool can record it.
        let erased = tokio::time::timeout(Duration::from_secs(60), writer.erase(&id)).await;
        self.trace.say(format!("call {id} is erased: {erased:?}"));
        let Ok(erased) = erased else { return };
        match erased {
            Ok(()) => {
                self.trace.count(if is_elsewhere { "erased from elsewhere" } else { "erased" }, 1);
                self.calls[index].is_erased = true;
                check::forgotten(self, process, index);
            }
            Err(error) if error.kind() == LogErrorKind::Held && self.calls[index].is_held => {}
            Err(error) => {
                assert!(matches!(error.kind(), LogErrorKind::Unavailable | LogErrorKind::NeedsOperator), "{error}")
            }
        }
    }

    /// Holds a call, checks that it cannot be erased, and may release it.
    async fn hold(&mut self, index: usize) {
        let call = &mut self.calls[index];
        call.is_held |= !call.is_erasing;
        if !call.is_held || self.log.change_call(&call.id, &CallChange::Hold).await.is_err() {
            return;
        }
        self.trace.count("held", 1);
        let erased =
            tokio::time::timeout(Duration::from_secs(60), self.processes[call.home].writer.erase(&call.id)).await;
        assert!(!matches!(erased, Ok(Ok(()))), "call {} is held, and was erased", call.id);
        if self.dice.chance(0.5) {
            // An erasure that timed out may be applied after the release.
            call.is_erasing |= !matches!(erased, Ok(Err(error)) if error.kind() == LogErrorKind::Held);
            call.is_held = self.log.change_call(&call.id, &CallChange::Release).await.is_err();
        }
    }

    async fn finish(&mut self, index: usize) {
        let Some(owner) = &self.calls[index].owner else { return };
        if owner.call_end.is_some() || self.calls[index].is_erasing || !self.dice.chance(0.3) {
            return;
        }
        let call_end = CallEnd::of(&owner.manager, self.dynamo.clock().true_now_ms(), "hangup").unwrap();
        self.finish_with(index, call_end).await;
    }

    /// Submits all records of the owner and ends the call.
    pub async fn finish_with(&mut self, index: usize, call_end: CallEnd) {
        let call = &mut self.calls[index];
        // Records which records are accepted.
        call.submit(None, LastMessage::Include, &self.trace);
        let Some(owner) = &mut call.owner else { return };
        let Some(writer) = &owner.writer else { return };
        let timeout = Duration::from_millis(self.dice.below(5_000));
        let before = owner.call_end.replace(call_end.clone());
        let finished = writer.finish(&mut owner.manager, call_end, timeout).await;
        self.trace.say(format!("call {} is finished: {finished:?}", call.id));
        match finished {
            Ok(()) => {
                call.accept_all();
                let owner = call.owner.as_mut();
                if let Some(owner) = owner.filter(|_| self.dice.chance(0.5)) {
                    owner.writer = None;
                }
            }
            Err(error) if error.is_retryable() => {
                // The call continues until it is finished. A call that ended before the task died stays ended.
                call.accept_all();
                if let Some(owner) = &mut call.owner {
                    owner.call_end = before;
                }
            }
            Err(error) => assert!(call.is_erasing, "{error}"),
        }
    }

    fn fill_disk_of(&mut self, process: usize) {
        let writes = self.dice.chance(0.5).then(|| self.dice.below(40));
        self.trace.say(format!("the disk of process {process} takes {writes:?} writes"));
        self.fill_disk(process, writes);
    }
}
