//! [`World`]: a table, one or two processes that write to it, and their calls.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use verbale::contents::Cached;
use verbale::dynamodb::{DynamoContents, DynamoLog, Layout, create_table};
use verbale::log::{
    CallLog, DeadLetter, Durability, LogErrorKind, LogWriter, Offloading, Spool, SpoolSettings, WriterSettings,
};
use verbale::testing::SpoolMemory;
use verbale::{MessageId, PlainMessage};

use super::call::{Call, Manager};
use super::check;
use super::spanning::Spanning;
use super::trace::Trace;
use super::words::Manners;
use crate::dynamo::{Dice, Dynamo, FaultPlan};

pub struct World {
    pub dice: Dice,
    pub dynamo: Dynamo,
    pub log: Arc<dyn CallLog>,
    /// The log that the writers use in every second history.
    spanning: Option<Arc<Spanning>>,
    pub processes: Vec<Process>,
    pub calls: Vec<Call>,
    pub manners: Manners,
    /// The dead letters that were taken from the writers.
    pub dead_letters: Vec<DeadLetter>,
    pub trace: Trace,
    settings: WriterSettings,
    acknowledge_at: Option<Durability>,
    spool: SpoolSettings,
    seed: u64,
}

/// A process with a writer. Without a spool its waiting records are lost when it dies.
pub struct Process {
    pub writer: LogWriter,
    pub memory: Option<SpoolMemory>,
    pub spool: Option<Arc<Spool>>,
    pub level: Durability,
    task: JoinHandle<()>,
}

impl World {
    pub async fn of_seed(seed: u64, trace: Trace) -> Self {
        let mut dice = Dice::of(&[seed, 1]);
        let plan = FaultPlan::of_seed(seed);
        let calm = FaultPlan { seed, clock_steps: plan.clock_steps.clone(), ..FaultPlan::none() };
        let dynamo = Dynamo::new(calm);
        create_table(&dynamo.client(), "verbale").await.unwrap();
        trace.count("clock stepped back", plan.clock_steps.len() as u64);
        trace.say(format!("{plan:?}"));
        let hours = plan.windows.iter().filter(|window| (window.to - window.from).as_secs() > 3_600).count();
        trace.count("outage of hours", hours as u64);
        dynamo.set_plan(plan);
        trace.begin(&dynamo);
        // The other half of the histories has the layout of an item a message.
        let has_spans = seed % 2 == 1;
        // One client, which corrects its clock once.
        let client = dynamo.client();
        let log = DynamoLog::new(client.clone()).with_clock(Arc::new(dynamo.clock())).with_layout(if has_spans {
            Layout::Spans
        } else {
            Layout::Messages
        });
        let offloads = dice.chance(0.3);
        trace.count("history with offloaded contents", u64::from(offloads));
        let log: Arc<dyn CallLog> = if offloads {
            let contents = Cached::new(DynamoContents::new(client), [0, 1 << 20][dice.below(2) as usize]);
            Arc::new(Offloading::new(log, contents).with_threshold([60, 1_024][dice.below(2) as usize]))
        } else {
            Arc::new(log)
        };
        let spanning = (seed % 2 == 1).then(|| Arc::new(Spanning::over(log.clone())));

        let mut settings = WriterSettings::default().with_seed(seed);
        settings = settings
            .with_parallel([1, 2, 64][dice.below(3) as usize], [1, 3, 25][dice.below(3) as usize])
            .with_linger(Duration::from_millis([0, 200, 2_000][dice.below(3) as usize]))
            .with_retries(Duration::from_secs(5), Duration::from_secs([10, 60][dice.below(2) as usize]));
        if dice.chance(0.2) {
            settings = settings.with_limits(1_500, 3_000);
        }
        let acknowledge_at = dice.chance(0.05).then_some(Durability::Accepted);
        if let Some(level) = acknowledge_at {
            settings = settings.with_acknowledge_at(level);
        }
        let spool = SpoolSettings::default().with_max_bytes(if dice.chance(0.2) { 2_000 } else { 1 << 30 });
        let memory = dice.chance(0.4).then(SpoolMemory::default);
        trace.count("history with a spool", u64::from(memory.is_some()));
        let manners = Manners { has_large: dice.chance(0.15) };
        let (processes, calls, dead_letters) = Default::default();
        let mut world = Self {
            dice,
            dynamo,
            log,
            spanning,
            processes,
            calls,
            manners,
            dead_letters,
            trace,
            settings,
            acknowledge_at,
            spool,
            seed,
        };
        let first = world.process(memory);
        world.processes.push(first);
        for number in 0..1 + world.dice.below(4) {
            world.open(number);
        }
        world
    }

    fn process(&self, memory: Option<SpoolMemory>) -> Process {
        let mut settings = self.settings.clone();
        let spool = memory.as_ref().map(|memory| Arc::new(memory.open(self.spool.clone()).unwrap()));
        let usual = if spool.is_some() { Durability::Spooled } else { Durability::Stored };
        let level = self.acknowledge_at.unwrap_or(usual);
        if let Some(spool) = &spool {
            settings = settings.with_spool(spool.clone());
        }
        let log = self.spanning.clone().map_or(self.log.clone(), |spanning| spanning);
        let (writer, task) = LogWriter::new(log, settings);
        Process { writer, memory, spool, level, task: tokio::spawn(task) }
    }

    fn open(&mut self, number: u64) {
        let start_ms = self.dynamo.clock().true_now_ms();
        // Ids differ between seeds.
        let mut call = Call::new(number + self.seed % 1_000 * 10, 0, start_ms);
        let writer = self.processes[0].writer.open(call.header.clone()).unwrap();
        call.begin(0, writer, Manager::new(), Arc::new(self.dynamo.clock()));
        self.calls.push(call);
    }

    /// Runs a few dozen steps with waits in between.
    pub async fn live(&mut self) {
        for _ in 0..10 + self.dice.below(25) {
            self.step().await;
            for process in &self.processes {
                check::balanced(&process.writer.status());
                self.trace.count("trouble reported", u64::from(!process.writer.status().trouble.is_empty()));
            }
            let wait = match self.dice.below(1_000) {
                0..=399 => 0,
                400..=799 => self.dice.below(2_000),
                800..=959 => self.dice.below(30_000),
                960..=998 => self.dice.below(300_000),
                _ => 3 * 3_600_000,
            };
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
    }

    /// Starts a second process, which takes calls over.
    pub fn rival(&mut self) {
        if self.processes.len() == 1 {
            let memory = self.dice.chance(0.3).then(SpoolMemory::default);
            let process = self.process(memory);
            self.processes.push(process);
        }
    }

    /// Kills the writer of a process and starts another one. Records that only the writer had are lost.
    pub async fn restart(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.task.abort();
        // The result is the cancellation.
        let _ = (&mut process.task).await;
        self.leave(index);
        let memory = self.processes[index].memory.as_ref().map(SpoolMemory::copy);
        self.processes[index] = self.process(memory);
    }

    /// Adds the counters of a writer to the tally before the writer is dropped.
    pub fn leave(&self, index: usize) {
        let status = self.processes[index].writer.status();
        self.trace.count("record recovered from the spool", status.recovered);
        self.trace.count("dead letter", status.dead_letters);
        self.trace.count("revision replaced while it waited", status.dropped);
        self.trace.count("commit of the spool failed or found no room", status.unspooled);
        self.trace.count("records accepted", status.accepted);
        self.trace.count("span stored", self.spanning.as_ref().map_or(0, |spanning| spanning.check()));
    }

    /// Resumes a call in its home process. Returns whether it succeeded; a failure may be retried.
    pub async fn resume(&mut self, index: usize) -> bool {
        let (home, timeout) = (self.calls[index].home, Duration::from_secs(self.dice.within(&(1..=20))));
        // The older owners may have got more acknowledgements until now.
        let level = self.level_of_zombies(index);
        let apart = self.dead_letters_of(index).await;
        let call = &mut self.calls[index];
        let kept: Vec<_> = call.zombies.iter().map(|zombie| zombie.kept(level)).collect();
        kept.iter().for_each(|kept| call.promise(kept));
        let writer = &self.processes[home].writer;
        let resumed = writer.resume::<PlainMessage>(&call.id, timeout).await;
        call.was_resumed = true;
        let error = match resumed {
            Ok((manager, writer)) => {
                self.trace.say(format!("call {} resumed as {:?}", call.id, writer.lease().epoch()));
                self.trace.count("call resumed", 1);
                self.trace.count("record left out", manager.left_out().len() as u64);
                // The resume stored the contents of the spool first.
                let at_home = std::mem::take(&mut call.promised_at_home);
                call.promise(&at_home);
                let incomplete = check::restored(call, &manager, &apart);
                // The new owner promises no more than it was given.
                for record in manager.records().into_iter().filter(check::is_incomplete) {
                    call.accepted.entry(check::key_of(&record)).or_default().push(record);
                }
                self.trace.count("message resumed without a content", incomplete);
                call.begin(home, writer, manager, Arc::new(self.dynamo.clock()));
                return true;
            }
            Err(error) => error,
        };
        self.trace.say(format!("call {} is not resumed: {error}", call.id));
        match error.kind() {
            // The header was accepted but not stored when the process died.
            LogErrorKind::NotOpened => {
                drop(writer.open(call.header.clone()).unwrap());
                writer.flush(timeout).await;
            }
            LogErrorKind::Erased if call.is_erasing => {}
            _ if matches!(error.kind(), LogErrorKind::Unavailable | LogErrorKind::NeedsOperator) => {}
            _ => panic!("call {} cannot be resumed: {error:?}", call.id),
        }
        false
    }

    fn level_of_zombies(&self, index: usize) -> Durability {
        let levels = self.calls[index].zombies.iter().map(|zombie| self.level_elsewhere(zombie.process));
        levels.min().unwrap_or(Durability::Stored)
    }

    /// Returns the durability of acknowledged records as seen by another process, which cannot read this spool.
    pub fn level_elsewhere(&self, process: usize) -> Durability {
        let level = self.processes[process].level;
        if level == Durability::Stored { level } else { Durability::Accepted }
    }

    /// Returns the messages of a call whose newest revision is a dead letter that was taken, or in any process.
    async fn dead_letters_of(&self, index: usize) -> BTreeSet<MessageId> {
        let call_id = &self.calls[index].id;
        let mut letters: Vec<DeadLetter> = self.dead_letters.clone();
        for process in &self.processes {
            // A spool that cannot be read keeps its dead letters to itself.
            letters.extend(process.writer.dead_letters(Some(call_id)).await.unwrap_or_default());
        }
        letters.iter().filter_map(|letter| letter.record.as_ref()).map(|record| record.id()).collect()
    }

    /// Fills the disk of a spool after some writes, or frees it.
    pub fn fill_disk(&self, process: usize, writes: Option<u64>) {
        if let Some(memory) = &self.processes[process].memory {
            memory.fail_after(writes);
        }
    }
}
