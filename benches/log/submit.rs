//! The time of `submit` for one turn, with a healthy log and with one that never answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, CallWriter, LogFuture, LogWriter, LoggedCall,
    MemoryLog, Put, Spool, SpoolSettings, WriterLease, WriterSettings,
};
use verbale::{LastMessage, MessagesManager, PlainMessage, Record};

const CALLS: usize = 1_000;
const TURNS: usize = 1_000;
const IN_TIME: Duration = Duration::from_secs(600);

pub fn print() {
    let directory = tempfile::tempdir().unwrap();
    let spool = || Arc::new(Spool::open(directory.path().join("spool"), SpoolSettings::default()).unwrap());
    println!("submit, {} turns of {CALLS} calls, two messages each; in µs", CALLS * TURNS);
    println!("                               p50     p99   p99.9      max   not all accepted");
    let plain = WriterSettings::default();
    let healthy = measured("healthy", Arc::new(MemoryLog::default()), plain.clone(), true);
    let blackholed = measured("blackholed", Arc::new(Blackhole), plain.clone(), false);
    measured("healthy, with a spool", Arc::new(MemoryLog::default()), plain.clone().with_spool(spool()), true);
    measured("blackholed, with a spool", Arc::new(Blackhole), plain.with_spool(spool()), false);
    println!(
        "blackholed to healthy: p50 {:.2}, p99 {:.2}, p99.9 {:.2}, max {:.2}",
        blackholed[0] / healthy[0],
        blackholed[1] / healthy[1],
        blackholed[2] / healthy[2],
        blackholed[3] / healthy[3],
    );
}

/// Prints and returns p50, p99, p99.9 and the maximum. With a healthy log, all calls store a turn before the next one.
fn measured(name: &str, log: Arc<dyn CallLog>, settings: WriterSettings, is_healthy: bool) -> [f64; 4] {
    let runtime = crate::runtime();
    let (writer, task) = LogWriter::new(log, settings);
    let task = runtime.spawn(task);
    let mut calls: Vec<(MessagesManager<PlainMessage>, CallWriter)> = (0..CALLS)
        .map(|call| (MessagesManager::new(), writer.call(WriterLease::from(CallId::new(format!("{call}")).unwrap()))))
        .collect();
    let mut times_ns = Vec::with_capacity(CALLS * TURNS);
    for _ in 0..TURNS {
        for (manager, call) in &mut calls {
            manager.add_user("is there an appointment on friday").unwrap();
            manager.add_assistant("Yes, at ten.").unwrap();
            let start = Instant::now();
            call.submit(manager, LastMessage::Exclude).unwrap();
            times_ns.push(start.elapsed().as_nanos() as f64);
        }
        if is_healthy {
            assert_eq!(runtime.block_on(writer.flush(IN_TIME)), []);
        }
    }
    let refused = writer.status().refused as f64 / times_ns.len() as f64;
    times_ns.sort_by(f64::total_cmp);
    let part = |part: f64| times_ns[((times_ns.len() - 1) as f64 * part) as usize] / 1_000.0;
    let parts = [part(0.5), part(0.99), part(0.999), part(1.0)];
    let [p50, p99, p999, max] = parts;
    println!("{name:25} {p50:8.2} {p99:7.2} {p999:7.2} {max:8.0} {:9.0} %", refused * 100.0);
    task.abort();
    let _ = runtime.block_on(task);
    parts
}

/// A log that accepts every request and never answers.
struct Blackhole;

impl CallLog for Blackhole {
    fn open_call<'a>(&'a self, _: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(std::future::pending())
    }

    fn put_record<'a>(&'a self, _: &'a WriterLease, _: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(std::future::pending())
    }

    fn change_call<'a>(&'a self, _: &'a CallId, _: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(std::future::pending())
    }

    fn read_call<'a>(&'a self, _: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(std::future::pending())
    }

    fn list_calls<'a>(&'a self, _: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(std::future::pending())
    }

    fn erase_call<'a>(&'a self, _: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(std::future::pending())
    }
}
