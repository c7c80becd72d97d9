//! [`Life`]: one run of a service with 200 calls, which ends by `kill -9`. It prints a line for each acknowledged change.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::task::JoinSet;
use verbale::log::{CallEnd, CallHeader, CallId, CallWriter, LogErrorKind, LogWriter};
use verbale::{LastMessage, MessageId, MessagesManager, PlainMessage, Record, Timing};

use super::home::Home;
use super::{HANGS, START_MS};

const CALLS: u32 = 200;
/// The number of calls that later lives resume, if the log is available.
const LASTING: u32 = 20;
const TURNS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(100);
const VARIABLE: &str = "VERBALE_CRASH_LIFE";

pub type Manager = MessagesManager<PlainMessage>;

pub struct Life {
    pub number: u32,
    pub home: Home,
    /// Whether the log's table is missing, so that everything stays in the spool.
    pub is_away: bool,
}

/// A change that was acknowledged to the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledged {
    pub call_id: CallId,
    pub id: MessageId,
    pub revision: u32,
    /// The hash of the whole record.
    pub hash: u64,
}

impl Life {
    /// Returns the command that runs this life in this test program.
    pub fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let fsync = self.home.fsync;
        let log = if self.is_away { "away" } else { "there" };
        command
            .args(["life", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, format!("{} {fsync} {log} {}", self.number, self.home.directory.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }

    /// Returns the life that this process has to run.
    pub fn of_environment() -> Option<Self> {
        let life = std::env::var(VARIABLE).ok()?;
        let [number, fsync, log, directory] = life.splitn(4, ' ').collect::<Vec<_>>()[..] else { panic!("{life}") };
        let home = Home { directory: PathBuf::from(directory), fsync: fsync == "true" };
        Some(Self { number: number.parse().unwrap(), home, is_away: log == "away" })
    }

    /// Runs until the process is killed.
    pub async fn run(&self) {
        let (writer, task, _spool) = self.home.writer(self.home.log(self.is_away));
        tokio::spawn(task);
        let mut calls = JoinSet::new();
        for number in 0..CALLS {
            calls.spawn(speak(writer.clone(), self.call_id(number)));
        }
        while let Some(spoken) = calls.join_next().await {
            spoken.unwrap();
        }
        println!("done");
        std::future::pending().await
    }

    fn call_id(&self, number: u32) -> CallId {
        let lasts = number < LASTING && !self.is_away;
        let name = if lasts { format!("lasting-{number}") } else { format!("{}-{number}", self.number) };
        CallId::new(name).unwrap()
    }
}

async fn speak(writer: LogWriter, call_id: CallId) {
    let (mut manager, call) = begin(&writer, &call_id).await;
    let mut printer = Printer::new(call_id.clone());
    for turn in 0..TURNS {
        call.acknowledge(&mut manager);
        printer.print(&manager);
        let last = manager.meta_messages().last().map(|message| message.id());
        if let Some(mut played) = last.and_then(|id| manager.entry(&id).filter(|_| turn > 0)) {
            played.set_timing(Timing::PlayEnd, START_MS + i64::from(turn)).unwrap();
        }
        manager.add_user(format!("{call_id} asks {turn}")).unwrap();
        manager.add_assistant(format!("{call_id} is answered {turn}")).unwrap();
        if turn == 2
            && let Some(summarizing) = manager.summarizing_keeping(1)
        {
            manager.add_summary(format!("{call_id} up to {turn}"), &summarizing).unwrap();
        }
        call.submit(&mut manager, LastMessage::Exclude).unwrap();
        tokio::time::sleep(PAUSE).await;
    }
    let call_end = CallEnd::of(&manager, START_MS + i64::from(TURNS), "hangup").unwrap();
    call.finish(&mut manager, call_end, HANGS).await.unwrap();
    while !manager.changes(LastMessage::Include).is_empty() {
        tokio::time::sleep(PAUSE).await;
        call.acknowledge(&mut manager);
        printer.print(&manager);
    }
}

/// Resumes a call of an earlier life, or opens a new one.
async fn begin(writer: &LogWriter, call_id: &CallId) -> (Manager, CallWriter) {
    if call_id.as_str().starts_with("lasting") {
        match writer.resume(call_id, HANGS).await {
            Ok(resumed) => return resumed,
            Err(error) if error.kind() == LogErrorKind::NotOpened => {}
            Err(error) => panic!("{error}"),
        }
    }
    let header = CallHeader::new(call_id.clone(), START_MS).unwrap();
    (Manager::new(), writer.open(header).unwrap())
}

/// Prints the acknowledged changes of a call.
pub struct Printer {
    call_id: CallId,
    revisions: HashMap<MessageId, u32>,
}

impl Printer {
    pub fn new(call_id: CallId) -> Self {
        Self { call_id, revisions: HashMap::new() }
    }

    fn print(&mut self, manager: &Manager) {
        print!("{}", self.lines(manager));
    }

    /// Returns a line for each change that was acknowledged since the last call.
    pub fn lines(&mut self, manager: &Manager) -> String {
        let changes = manager.changes(LastMessage::Include);
        let mut lines = String::new();
        for record in manager.records() {
            let (id, revision) = (record.id(), record.revision());
            if changes.iter().all(|changed| changed.id() != id) && self.revisions.insert(id, revision) != Some(revision)
            {
                let hash = hash(&record);
                let acknowledged = Acknowledged { call_id: self.call_id.clone(), id, revision, hash };
                lines += &format!("{acknowledged}\n");
            }
        }
        lines
    }
}

pub fn hash(record: &Record) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(record).unwrap().hash(&mut hasher);
    hasher.finish()
}

impl fmt::Display for Acknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ack {} {} {} {}", self.call_id, self.id, self.revision, self.hash)
    }
}

impl Acknowledged {
    /// Parses a line of output. Returns `None` for other lines and for lines without their end.
    pub fn of_line(line: &str) -> Option<Self> {
        let ["ack", call_id, id, revision, hash] = line.strip_suffix('\n')?.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(Self {
            call_id: CallId::new(call_id).unwrap(),
            id: id.parse().unwrap(),
            revision: revision.parse().unwrap(),
            hash: hash.parse().unwrap(),
        })
    }
}
