//! [`Process`]: one process with the call, until it dies, and the history of all of them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use verbale::call::{CallBuilder, CallSession};
use verbale::clock::{SequentialIds, SystemIds};
use verbale::conversation::{CallEvent, Observer};
use verbale::log::{CallHeader, CallId, LogWriter, Redaction, WriterSettings};
use verbale::{Message, MessageWrapper, PlainMessage};

use super::bookings::{HOLDER, Kind};
use super::caller;
use super::check;
use super::line::Line;
use super::naive::Naive;
use super::world::{START_MS, World};

#[derive(Clone)]
pub struct Process(Arc<Inner>);

struct Inner {
    world: World,
    number: u64,
    is_dead: AtomicBool,
    session: Mutex<Option<Arc<CallSession>>>,
    inherited: Mutex<BTreeSet<(String, u64)>>,
}

impl Process {
    fn new(world: &World, number: u64) -> Self {
        Self(Arc::new(Inner {
            world: world.clone(),
            number,
            is_dead: AtomicBool::new(false),
            session: Mutex::default(),
            inherited: Mutex::default(),
        }))
    }

    pub fn world(&self) -> &World {
        &self.0.world
    }

    pub fn number(&self) -> u64 {
        self.0.number
    }

    pub fn is_dead(&self) -> bool {
        self.0.is_dead.load(Ordering::SeqCst)
    }

    /// Returns at once, or never, if the process is dead.
    pub async fn alive(&self) {
        if self.is_dead() {
            std::future::pending().await
        }
    }

    pub fn call(&self) -> Arc<CallSession> {
        self.0.session.lock().unwrap().clone().unwrap()
    }

    /// Returns all messages of the conversation. Those that have left memory are read from the log.
    pub async fn messages(&self) -> Vec<Message> {
        let (call, log) = (self.call(), self.world().log());
        let whole = call.conversation().whole(&*log).await.unwrap();
        whole.meta_messages().iter().map(|wrapper| wrapper.message().clone()).collect()
    }

    /// The tool and the item of each act that earlier processes made.
    pub fn inherited(&self) -> MutexGuard<'_, BTreeSet<(String, u64)>> {
        self.0.inherited.lock().unwrap()
    }

    fn writer(&self) -> LogWriter {
        let line = Arc::new(Line { process: self.clone() });
        let mut settings = WriterSettings::default().with_seed(self.number());
        if self.world().plan().redacts {
            settings = settings.with_redactor(Arc::new(|text: &str| {
                let found = text.match_indices(HOLDER);
                Ok(found.map(|(at, name)| Redaction::new("name", at..at + name.len(), "[name]")).collect())
            }));
        }
        let (writer, task) = LogWriter::new(line, settings);
        tokio::spawn(task);
        writer
    }

    fn builder(&self) -> CallBuilder {
        let builder = CallBuilder::new(Naive(self.clone())).observer(Seen(self.clone()));
        Kind::ALL.into_iter().fold(builder, |builder, kind| builder.tool(kind.tool(self)))
    }

    fn begin(&self) {
        let call = self.writer().open(CallHeader::new(self.world().call_id(), START_MS).unwrap()).unwrap();
        let clock = Arc::new(self.world().clone());
        let call = self.builder().clock(clock, Arc::new(SequentialIds::default())).log(call).open().unwrap();
        *self.0.session.lock().unwrap() = Some(Arc::new(call));
    }

    /// Takes the call over. Returns false if it was never opened.
    async fn take_over(&self) -> bool {
        let writer = self.writer();
        for _ in 0..200 {
            match writer.resume::<PlainMessage>(&self.world().call_id(), Duration::from_secs(5)).await {
                Ok((manager, call)) => {
                    let clock = Arc::new(self.world().clone());
                    let manager = manager.with_clock(clock, Arc::new(SystemIds));
                    let call = self.builder().log(call).resume(manager).unwrap();
                    *self.0.session.lock().unwrap() = Some(Arc::new(call));
                    self.world().count("call taken over");
                    return true;
                }
                Err(error) if error.is_retryable() => sleep(Duration::from_millis(200)).await,
                Err(error) => {
                    self.world().say(format!("{self} cannot take the call over: {error}"));
                    return false;
                }
            }
        }
        panic!("the call cannot be taken over")
    }

    fn die(&self) {
        self.0.is_dead.store(true, Ordering::SeqCst);
        self.world().say(format!("{self} dies"));
        // A dead process ends nothing properly.
        std::mem::forget(self.0.session.lock().unwrap().clone());
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.number())
    }
}

/// Notes calls that run without the log.
struct Seen(Process);

impl Observer for Seen {
    fn observe(&self, _: &CallId, event: &CallEvent) {
        if let CallEvent::ToolUnlogged { id } = event {
            self.0.world().truth().unlogged.insert(id.to_string());
        }
    }
}

/// Lives through a whole history.
pub async fn live(world: World) {
    let mut process = Process::new(&world, 0);
    process.begin();
    for life in 1..=world.plan().lives {
        let lasts = Duration::from_millis(world.below(40_000));
        let is_last = life == world.plan().lives;
        let spoken = caller::speak(&process);
        if is_last {
            spoken.await;
            break;
        }
        if timeout(lasts, spoken).await.is_ok() {
            break;
        }
        // The tasks of an older process may continue for some time.
        if world.chance(30) {
            world.count("older process goes on");
            let older = process.clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(older.world().below(20_000))).await;
                older.die();
            });
        } else {
            process.die();
        }
        let successor = Process::new(&world, life);
        let effects = world.truth().effects.clone();
        if !successor.take_over().await {
            // Nothing was stored, so nothing that acts once has run.
            assert!(!effects.iter().any(|effect| effect.kind.acts_once()), "an effect of a call that was never stored");
            return;
        }
        world.say(format!("{successor} takes over"));
        check::successor(&successor, &effects).await;
        process = successor;
    }
    world.say("from here on nothing goes wrong");
    world.calm();
    sleep(Duration::from_secs(120)).await;
    caller::listen(&process).await;
    check::told(&process).await;
    check::effects(&world);
}
