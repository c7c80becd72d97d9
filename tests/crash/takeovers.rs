//! `kill -9` of two processes that take one call over from each other.
//!
//! The first process opens a call and writes it. The second one takes it over: while the first is alive, or after it was
//! killed; and it may be killed itself at a request of the takeover. Afterwards a process that lives continues, or knows that
//! it is fenced. At the end both are killed, a third takes the call over, and the spools of both are replayed. Then
//! nothing acknowledged may be missing, nothing may be there twice, and each process that served knew everything that was
//! acknowledged as stored before.
//!
//! `VERBALE_CRASH_ROUNDS` has the number of rounds with each layout of the table. Each round has its own seed, so that
//! `VERBALE_CRASH_ROUND` repeats one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use verbale::dynamodb::DynamoLog;
use verbale::log::{CallId, CallLog, LogWriter, LoggedCall};
use verbale::{LastMessage, MessageId, Record};

use super::home::{client, make_table, moto, writer_settings};
use super::life::{Acknowledged, Manager, hash};
use super::owner::{FIRST, KEEPS, Keeps, LAYOUTS, Owner, SECOND};
use super::server::Server;
use super::{HANGS, SEED, runtime};
use crate::seeded::Seeded;

const ROUNDS: u64 = 12;
/// Rounds that run at a time. Most of them wait until a candidate counts as silent.
const PARALLEL: u64 = 4;
/// The maximum number of lines that the first process has printed when the second one starts.
const MAX_LINES: u64 = 40;
/// A candidate is killed at one of its first requests, this many, or soon after it serves.
const MAX_REQUESTS: u64 = 40;
/// The first process continues once this many more of its changes are stored.
const CONTINUES: u64 = 20;

#[test]
#[ignore = "the other tests start and kill it"]
fn own() {
    if let Some(owner) = Owner::of_environment() {
        // The harness has printed the start of a line.
        println!();
        runtime().block_on(owner.run());
    }
}

#[test]
fn takeovers_of_two_processes_survive_kill() {
    let server = Server::start();
    survive(&server.url);
}

#[test]
fn takeovers_of_two_processes_survive_kill_over_http() {
    if let Some(url) = moto() {
        survive(&url);
    }
}

/// The seed repeats the moments of a run, but not the scheduling of the machine.
fn survive(url: &str) {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let seed = number("VERBALE_CRASH_SEED").unwrap_or(SEED);
    let rounds = match number("VERBALE_CRASH_ROUND") {
        Some(round) => round..round + 1,
        None => 0..number("VERBALE_CRASH_ROUNDS").unwrap_or(ROUNDS),
    };
    println!("VERBALE_CRASH_SEED={seed} VERBALE_CRASH_ROUNDS={}", rounds.end);
    let table = runtime().block_on(make_table(url, "verbale-takeovers"));
    for (layout, (name, _)) in LAYOUTS.iter().enumerate() {
        let of_worker = |worker: u64| {
            let (rounds, table) = (rounds.clone(), &table);
            move || {
                let mine = rounds.filter(|round| round % PARALLEL == worker);
                mine.map(|round| Round::new(seed, round, layout, url, table).run()).collect::<Vec<_>>()
            }
        };
        let outcomes: Vec<Outcome> = thread::scope(|scope| {
            let workers: Vec<_> = (0..PARALLEL).map(|worker| scope.spawn(of_worker(worker))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
        println!(
            "layout {name}: {} rounds, {} records stored, {} only spooled, {} candidates killed, {} of them before they \
             served; {} first processes continued, {} were fenced",
            outcomes.len(),
            sum(|outcome| outcome.stored),
            sum(|outcome| outcome.letters),
            sum(|outcome| usize::from(outcome.candidate_died)),
            sum(|outcome| usize::from(outcome.candidate_died && !outcome.candidate_served)),
            sum(|outcome| usize::from(outcome.continued)),
            sum(|outcome| usize::from(outcome.was_fenced)),
        );
        if rounds.end - rounds.start >= if seed == SEED { ROUNDS } else { 5 * ROUNDS } {
            assert!(sum(|outcome| usize::from(outcome.candidate_died && !outcome.candidate_served)) > 0);
            assert!(sum(|outcome| usize::from(outcome.continued)) > 0 && sum(|outcome| outcome.letters) > 0);
            assert!(sum(|outcome| usize::from(outcome.was_fenced)) > 0);
        }
    }
}

/// The observations of a round.
#[derive(Default)]
struct Outcome {
    stored: usize,
    letters: usize,
    candidate_died: bool,
    candidate_served: bool,
    continued: bool,
    was_fenced: bool,
}

/// The newest revision of each message, and the hash of its record.
type Known = BTreeMap<MessageId, (u32, u64)>;

/// The lines that the processes of a round have printed.
#[derive(Default)]
struct Printed {
    /// The number of lines, by process and by the first word.
    counts: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// By the epoch of the process that acknowledged it.
    stored: BTreeMap<u32, Known>,
    /// By process.
    spooled: BTreeMap<&'static str, Known>,
    /// The records that a process held when it began to serve, by its epoch.
    held: BTreeMap<u32, Known>,
}

struct Round {
    number: u64,
    /// The variables that repeat this round.
    repeat: String,
    chance: Seeded,
    first: Owner,
    second: Owner,
    _directory: tempfile::TempDir,
    lines: (Sender<Line>, Receiver<Line>),
    printed: Printed,
}

type Line = (&'static str, Option<String>);

impl Round {
    fn new(seed: u64, number: u64, layout: usize, url: &str, table: &str) -> Self {
        let chance = Seeded::from(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let directory = tempfile::tempdir().unwrap();
        let keeps = KEEPS[(chance.next_u64() % 3) as usize];
        let owner = |name: &'static str| Owner {
            call_id: CallId::new(format!("takeover-{}-{number}", LAYOUTS[layout].0)).unwrap(),
            name,
            url: url.to_owned(),
            table: table.to_owned(),
            layout,
            keeps,
            insists: name == FIRST && chance.next_u64().is_multiple_of(3),
            directory: directory.path().join(name),
        };
        let (first, second) = (owner(FIRST), owner(SECOND));
        for owner in [&first, &second] {
            std::fs::create_dir(&owner.directory).unwrap();
        }
        let repeat = format!("VERBALE_CRASH_SEED={seed} VERBALE_CRASH_ROUND={number}");
        Self {
            number,
            repeat,
            chance,
            first,
            second,
            _directory: directory,
            lines: channel(),
            printed: Printed::default(),
        }
    }

    fn run(mut self) -> Outcome {
        let below = |end| self.chance.next_u64() % end;
        let (first_lines, second_lines, requests) = (below(MAX_LINES), below(MAX_LINES), below(MAX_REQUESTS));
        let (first_dies, candidate_dies) = (self.number.is_multiple_of(3), self.number.is_multiple_of(2));
        let insists = self.first.insists;
        println!(
            "{}: {:?}, the first has {first_lines} lines, dies: {first_dies}, insists: {insists}; the second has {}",
            self.repeat,
            self.first.keeps,
            if candidate_dies { format!("{requests} requests") } else { format!("{second_lines} lines") },
        );
        let mut outcome = Outcome { candidate_died: candidate_dies, ..Outcome::default() };

        let mut first = self.start(FIRST);
        // Then the header is stored.
        self.read_until(|printed| printed.lines_of(FIRST, "stored") > 0);
        self.read_until(|printed| printed.lines_of(FIRST, "") > first_lines);
        if first_dies {
            self.kill(&mut first, FIRST);
        }
        let mut second = self.start(SECOND);
        self.read_until(|printed| printed.lines_of(SECOND, "takes") > 0);
        if candidate_dies {
            // A first process that insists may have taken the call back before.
            self.read_until(|printed| {
                printed.lines_of(SECOND, "") > requests || printed.lines_of(SECOND, "fenced") > 0
            });
        } else {
            self.read_until(|printed| printed.lines_of(SECOND, "serves") > 0);
            let before = self.printed.lines_of(SECOND, "stored");
            self.read_until(|printed| {
                printed.lines_of(SECOND, "stored") > before + second_lines || printed.lines_of(SECOND, "fenced") > 0
            });
        }
        if candidate_dies || !insists {
            self.kill(&mut second, SECOND);
        }
        if !first_dies {
            // It continues, once it has taken its call back from a silent candidate, or knows that it has lost the call.
            let before = self.printed.lines_of(FIRST, "stored");
            self.read_until(|printed| {
                printed.lines_of(FIRST, "stored") > before + CONTINUES
                    || !insists && printed.lines_of(FIRST, "fenced") > 0
            });
            outcome.was_fenced = self.printed.lines_of(FIRST, "fenced") > 0;
            outcome.continued = !outcome.was_fenced;
            assert!(candidate_dies || outcome.was_fenced, "{}: both write", self.repeat);
            if !candidate_dies && insists {
                self.read_until(|printed| printed.lines_of(SECOND, "fenced") > 0);
                self.kill(&mut second, SECOND);
            }
            self.kill(&mut first, FIRST);
        } else if !candidate_dies && insists {
            self.kill(&mut second, SECOND);
        }
        outcome.candidate_served = self.printed.lines_of(SECOND, "serves") > 0;
        self.check_owners();
        (outcome.stored, outcome.letters) = runtime().block_on(self.check_table());
        outcome
    }

    fn owner(&self, name: &str) -> &Owner {
        if name == FIRST { &self.first } else { &self.second }
    }

    fn start(&self, name: &'static str) -> Process {
        let mut child = self.owner(name).command().spawn().unwrap();
        let (mut output, lines) = (BufReader::new(child.stdout.take().unwrap()), self.lines.0.clone());
        thread::spawn(move || {
            let mut line = String::new();
            while output.read_line(&mut line).unwrap() > 0 {
                // The last line may lack its end.
                if let Some(line) = line.strip_suffix('\n') {
                    // The round may have failed.
                    let _ = lines.send((name, Some(line.to_owned())));
                }
                line.clear();
            }
            let _ = lines.send((name, None));
        });
        Process(child)
    }

    /// Reads lines of both processes until enough is printed.
    fn read_until(&mut self, is_enough: impl Fn(&Printed) -> bool) {
        while !is_enough(&self.printed) {
            let (name, line) = self.lines.1.recv_timeout(HANGS).unwrap_or_else(|_| panic!("{}: hangs", self.repeat));
            let line = line.unwrap_or_else(|| panic!("{}: the {name} process ended by itself", self.repeat));
            self.printed.add(name, &line);
        }
    }

    /// Kills a process. Lines in the pipe count.
    fn kill(&mut self, process: &mut Process, name: &str) {
        process.0.kill().unwrap();
        assert_eq!(process.0.wait().unwrap().signal(), Some(9), "{}: the {name} process ended by itself", self.repeat);
        while let Ok((of, line)) = self.lines.1.recv_timeout(HANGS) {
            match line {
                Some(line) => self.printed.add(of, &line),
                None if of == name => return,
                None => panic!("{}: the {of} process ended by itself", self.repeat),
            }
        }
        panic!("{}: the {name} process cannot be killed", self.repeat);
    }

    /// Each process that served knew everything that older ones had stored, or stored later.
    fn check_owners(&self) {
        for (epoch, held) in &self.printed.held {
            for (older, stored) in self.printed.stored.range(..epoch) {
                self.check_known(&format!("what epoch {epoch} holds of epoch {older}"), held, stored);
            }
        }
    }

    fn check_known(&self, what: &str, known: &Known, acknowledged: &Known) {
        for (id, change) in acknowledged {
            assert!(
                knows(known, id, *change),
                "{}: {what}: {change:?} of message {id} is not in {known:?}",
                self.repeat
            );
        }
    }

    /// A busy server may not answer in time.
    async fn logged(&self, log: &DynamoLog) -> LoggedCall {
        loop {
            match log.read_call(&self.first.call_id).await {
                Err(error) if error.is_retryable() => {}
                read => return read.unwrap(),
            }
        }
    }

    /// Takes the call over, replays both spools, and compares the table with everything that was acknowledged. Returns the
    /// number of records, and of those that are only in a spool.
    async fn check_table(&self) -> (usize, usize) {
        let (repeat, log) = (&self.repeat, self.first.log(client(&self.first.url)));
        let (writer, task) = LogWriter::new(log.clone(), writer_settings());
        tokio::spawn(task);
        let (mut manager, call): (Manager, _) = writer.resume(&self.first.call_id, HANGS).await.unwrap();
        let held = known(&manager.records());
        for (epoch, stored) in &self.printed.stored {
            self.check_known(&format!("what the last process holds of epoch {epoch}"), &held, stored);
        }
        manager.add_user("The last process asks.").unwrap();
        manager.add_assistant("The last process answers.").unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        assert_eq!(call.flush(HANGS).await, [], "{repeat}");

        let mut letters = 0;
        for owner in [&self.first, &self.second].into_iter().filter(|owner| owner.keeps != Keeps::NoSpool) {
            let (writer, task, _spool) = owner.home().writer(log.clone());
            let task = tokio::spawn(task);
            let unstored = writer.flush(HANGS).await;
            assert!(unstored.iter().all(|unstored| unstored.is_dead_letter), "{repeat}: {unstored:?}");
            let records: Vec<Record> =
                writer.dead_letters(None).await.unwrap().into_iter().filter_map(|letter| letter.record).collect();
            let (kept, table) = (known(&records), known(&self.logged(&log).await.records));
            for (id, change) in self.printed.spooled.get(owner.name).into_iter().flatten() {
                let is_stored = knows(&table, id, *change);
                letters += usize::from(!is_stored);
                assert!(is_stored || knows(&kept, id, *change), "{repeat}: {change:?} of message {id} is lost");
            }
            drop(writer);
            task.await.unwrap();
        }

        let logged = self.logged(&log).await;
        assert!(
            logged.left_out.is_empty() && logged.records == manager.records(),
            "{repeat}: a replay changed the call"
        );
        let ids: BTreeSet<_> = logged.records.iter().map(|record| record.id()).collect();
        let positions: BTreeSet<_> = logged.records.iter().map(|record| record.position()).collect();
        let mut texts: Vec<_> = logged.records.iter().flat_map(|record| record.contents().texts()).collect();
        let count = texts.len();
        texts.sort_unstable();
        texts.dedup();
        let seen = (ids.len(), positions.len(), texts.len());
        assert_eq!(seen, (logged.records.len(), logged.records.len(), count), "{repeat}: something is there twice");
        // A process that takes its call back continues after its dead letters.
        if !self.first.insists {
            Manager::restore(logged.records).unwrap_or_else(|error| panic!("{repeat}: {error}"));
        }
        (seen.0, letters)
    }
}

/// A process that does not outlive its round.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Printed {
    fn lines_of(&self, name: &str, kind: &str) -> u64 {
        self.counts.get(name).map_or(0, |counts| counts.get(kind).copied().unwrap_or_default())
    }

    fn add(&mut self, name: &'static str, line: &str) {
        let kind = line.split(' ').next().unwrap_or_default().to_owned();
        let counts = self.counts.entry(name).or_default();
        // All kinds together are the kind without a name.
        *counts.entry(String::new()).or_default() += 1;
        *counts.entry(kind.clone()).or_default() += 1;
        let Some((epoch, change)) = line.split_once(' ').and_then(|(_, rest)| rest.split_once(' ')) else { return };
        let known = match kind.as_str() {
            "stored" => self.stored.entry(epoch.parse().unwrap()).or_default(),
            "holds" => self.held.entry(epoch.parse().unwrap()).or_default(),
            "spooled" => self.spooled.entry(name).or_default(),
            _ => return,
        };
        let Some(change) = Acknowledged::of_line(&format!("{change}\n")) else { panic!("{line}") };
        let newest = known.entry(change.id).or_default();
        *newest = (*newest).max((change.revision, change.hash));
    }
}

fn known(records: &[Record]) -> Known {
    records.iter().map(|record| (record.id(), (record.revision(), hash(record)))).collect()
}

/// Returns true if the change of a message is known, or a newer one.
fn knows(known: &Known, id: &MessageId, (revision, hash): (u32, u64)) -> bool {
    known.get(id).is_some_and(|known| known.0 > revision || *known == (revision, hash))
}
