//! [`Owner`]: a process that opens or takes over one call and writes it, until it is fenced or killed.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use tokio::time::{Duration, sleep, timeout};
use verbale::dynamodb::{self, DynamoLog};
use verbale::log::{CallHeader, CallId, CallWriter, Durability, LogError, LogErrorKind, LogWriter};
use verbale::{LastMessage, Timing};

use super::home::{Home, config, writer_settings};
use super::life::{Manager, Printer};
use super::{HANGS, START_MS};

const VARIABLE: &str = "VERBALE_CRASH_OWNER";
/// The pause after the first turn; it grows with each turn. A takeover does not end while the writer adds messages faster
/// than the candidate reads the call.
const PAUSE: Duration = Duration::from_millis(10);
/// A turn that is not acknowledged by then does not hold up the next one.
const TURN: Duration = Duration::from_millis(200);
/// After each group of this many turns, the owner waits until all of them are stored.
const FLUSHED: u32 = 4;

/// The point at which a record counts as acknowledged, and whether there is a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    NoSpool,
    Stored,
    Spooled,
}

pub const FIRST: &str = "first";
pub const SECOND: &str = "second";
pub const KEEPS: [Keeps; 3] = [Keeps::NoSpool, Keeps::Stored, Keeps::Spooled];

/// The layouts of a table, each with its name. Each has all rounds.
pub const LAYOUTS: &[(&str, Layout)] = &[
    ("messages", |log| log.with_layout(dynamodb::Layout::Messages)),
    ("spans", |log| log.with_layout(dynamodb::Layout::Spans)),
];

type Layout = fn(DynamoLog) -> DynamoLog;

#[derive(Clone)]
pub struct Owner {
    pub call_id: CallId,
    pub name: &'static str,
    pub url: String,
    pub table: String,
    /// An index of [`LAYOUTS`].
    pub layout: usize,
    pub keeps: Keeps,
    /// Whether it takes the call over again once it is fenced.
    pub insists: bool,
    /// The directory of its spool, which no other process uses.
    pub directory: PathBuf,
}

impl Owner {
    pub fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let keeps = KEEPS.iter().position(|keeps| *keeps == self.keeps).unwrap();
        let Self { call_id, name, url, table, layout, insists, .. } = self;
        let owner = format!("{call_id} {name} {url} {table} {layout} {keeps} {insists} {}", self.directory.display());
        command
            .args(["takeovers::own", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, owner)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }

    /// Returns the owner that this process has to be.
    pub fn of_environment() -> Option<Self> {
        let owner = std::env::var(VARIABLE).ok()?;
        let parts = owner.splitn(8, ' ').collect::<Vec<_>>();
        let [call_id, name, url, table, layout, keeps, insists, directory] = parts[..] else { panic!("{owner}") };
        Some(Self {
            call_id: CallId::new(call_id).unwrap(),
            name: if name == FIRST { FIRST } else { SECOND },
            url: url.to_owned(),
            table: table.to_owned(),
            layout: layout.parse().unwrap(),
            keeps: KEEPS[keeps.parse::<usize>().unwrap()],
            insists: insists == "true",
            directory: PathBuf::from(directory),
        })
    }

    pub fn home(&self) -> Home {
        Home { directory: self.directory.clone(), fsync: false }
    }

    pub fn log(&self, client: Client) -> Arc<DynamoLog> {
        Arc::new(LAYOUTS[self.layout].1(DynamoLog::new(client).with_table(self.table.as_str())))
    }

    /// Runs until the process is killed.
    pub async fn run(&self) {
        let shows = Arc::new(AtomicBool::new(false));
        let client = Client::from_conf(config(&self.url).interceptor(Shows(shows.clone())).build());
        let settings = match self.keeps {
            Keeps::NoSpool => writer_settings(),
            Keeps::Stored => writer_settings().with_spool(self.home().spool()).with_acknowledge_at(Durability::Stored),
            Keeps::Spooled => writer_settings().with_spool(self.home().spool()),
        };
        let (writer, task) = LogWriter::new(self.log(client), settings);
        tokio::spawn(task);
        let mut tenure = None;
        if self.name == FIRST {
            let header = CallHeader::new(self.call_id.clone(), START_MS).unwrap();
            tenure = Some((Manager::new(), writer.open(header).unwrap()));
        }
        loop {
            let (mut manager, call) = match tenure.take() {
                Some(tenure) => tenure,
                None => {
                    println!("takes");
                    shows.store(true, Ordering::Relaxed);
                    let resumed = writer.resume(&self.call_id, HANGS).await;
                    shows.store(false, Ordering::Relaxed);
                    match resumed {
                        Ok(resumed) => resumed,
                        // A third process was faster, or the first one is back.
                        Err(error) if error.kind() == LogErrorKind::Fenced => break println!("fenced"),
                        Err(error) => panic!("{error}"),
                    }
                }
            };
            let error = self.serve(&mut manager, &call).await.unwrap_err();
            assert_eq!(error.kind(), LogErrorKind::Fenced, "{error}");
            println!("fenced");
            if !self.insists {
                break;
            }
        }
        std::future::pending().await
    }

    /// Writes the call until another process has taken it over.
    async fn serve(&self, manager: &mut Manager, call: &CallWriter) -> Result<(), LogError> {
        let epoch = call.lease().epoch();
        let level = if self.keeps == Keeps::Spooled { "spooled" } else { "stored" };
        let [mut acknowledged, mut stored] = [(); 2].map(|()| Printer::new(self.call_id.clone()));
        let print = |level: &str, lines: String| {
            print!("{}", lines.lines().map(|line| format!("{level} {epoch} {line}\n")).collect::<String>());
        };
        print("holds", acknowledged.lines(manager));
        stored.lines(manager);
        println!("serves {epoch}");
        for turn in 0u32.. {
            let last = manager.meta_messages().last().map(|message| message.id());
            if let Some(mut played) = last.and_then(|id| manager.entry(&id)) {
                played.set_timing(Timing::PlayEnd, START_MS + i64::from(turn)).unwrap();
            }
            manager.add_user(format!("{} asks {turn} in {epoch}.", self.name)).unwrap();
            manager.add_assistant(format!("{} answers {turn} in {epoch}.", self.name)).unwrap();
            call.submit(manager, LastMessage::Include)?;
            let acknowledges = async {
                while !manager.changes(LastMessage::Include).is_empty() {
                    sleep(Duration::from_millis(2)).await;
                    call.acknowledge(manager);
                }
            };
            // It is late while another process may be taking the call over.
            let _ = timeout(TURN, acknowledges).await;
            print(level, acknowledged.lines(manager));
            if turn % FLUSHED == FLUSHED - 1 {
                let unstored = call.flush(HANGS).await;
                assert!(unstored.iter().all(|unstored| unstored.is_dead_letter), "{unstored:?}");
                call.acknowledge(manager);
                // Dead letters are those of an earlier tenure, or this one has just ended.
                let dead: Vec<String> = unstored.iter().filter_map(|dead| Some(dead.message_id?.to_string())).collect();
                let lines = stored.lines(manager);
                let is_stored = |line: &&str| dead.iter().all(|id| !line.contains(id.as_str()));
                print("stored", lines.lines().filter(is_stored).map(|line| format!("{line}\n")).collect());
            }
            sleep(PAUSE * (turn + 1)).await;
        }
        Ok(())
    }
}

/// Prints a line for each request, while it is asked to.
struct Shows(Arc<AtomicBool>);

impl Intercept for Shows {
    fn name(&self) -> &'static str {
        "Shows"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if self.0.load(Ordering::Relaxed) {
            println!("requests");
        }
        Ok(())
    }
}

impl fmt::Debug for Shows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shows")
    }
}
