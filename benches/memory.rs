//! W3: the memory of calls, each kind in a process of its own: the resident bytes, and those that are allocated on the heap,
//! which do not depend on the allocator. The baseline is a plain `Vec` of the same texts.
//!
//! `released` prunes after each summary what the summary covers and the log has. `live` is a call with a session, summaries
//! and a log outside this process, and `default` the same with the default policy. Linux only.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "not part of the library"
)]

#[path = "session/elsewhere.rs"]
mod elsewhere;
mod workload;

use std::alloc::System;
use std::collections::VecDeque;
use std::hint::black_box;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{env, fs};

use futures_core::Stream;
use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait};
use tokio::time::sleep;
use verbale::call::{CallBuilder, CallSession};
use verbale::log::{CallHeader, CallId, LogWriter, WriterSettings};
use verbale::model::{Generation, Model, ModelError, ModelEvent, ModelRequest, StopReason};
use verbale::{LastMessage, MessagesManager, PlainMessage, Policy};

use elsewhere::Elsewhere;
use workload::{Conversation, Floor, KEEP_TURNS, SUMMARISE_ABOVE, Words, play};

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<System> = PeakMemAlloc::system();

/// The number of calls, the turns of each, and whether there are summaries.
const CASES: [(u64, u64, bool); 3] = [(10_000, 40, true), (10_000, 40, false), (100, 10_000, false)];
/// The same for live calls.
const LIVE: [(u64, u64); 5] = [(200, 1), (200, 40), (100, 100), (50, 400), (10, 2_000)];
const LIVE_POLICIES: [&str; 2] = ["live", "default"];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let Some([what, case]) =
        arguments.iter().position(|a| a == "--hold").and_then(|at| arguments.get(at + 1..at + 3))
    {
        let case = case.parse::<usize>().unwrap();
        if LIVE_POLICIES.contains(&what.as_str()) {
            return hold_live(LIVE[case], what);
        }
        let (calls, turns, summaries) = CASES[case];
        match what.as_str() {
            "floor" => hold::<Floor>(calls, turns, summaries),
            "released" => hold::<Released>(calls, turns, summaries),
            _ => hold::<MessagesManager<PlainMessage>>(calls, turns, summaries),
        }
        return;
    }
    println!("calls  turns  what          floor B/call  verbale B/call  ratio    floor heap  verbale heap");
    for (case, (calls, turns, summaries)) in CASES.iter().enumerate() {
        let [floor, verbale] = ["floor", "verbale"].map(|what| held(what, case, *calls));
        let what = if *summaries { "summaries" } else { "whole" };
        println!(
            "{calls:<6} {turns:<6} {what:<10} {:15.0} {:15.0} {:6.2} {:13.0} {:13.0}",
            floor.resident,
            verbale.resident,
            verbale.resident / floor.resident,
            floor.heap,
            verbale.heap
        );
    }
    let (calls, turns, _) = CASES[0];
    let print = |calls: u64, turns: u64, what: &str, Held { resident, heap }: Held| {
        println!("{calls:<6} {turns:<6} {what:<10} {resident:31.0} {heap:34.0}");
    };
    print(calls, turns, "released", held("released", 0, calls));
    for what in LIVE_POLICIES {
        for (case, (calls, turns)) in LIVE.iter().enumerate() {
            print(*calls, *turns, what, held(what, case, *calls));
        }
    }
}

/// The bytes of a call.
struct Held {
    resident: f64,
    heap: f64,
}

/// Returns the bytes of each of the calls that a process of its own holds.
fn held(what: &str, case: usize, calls: u64) -> Held {
    let child = Command::new(env::current_exe().unwrap()).args(["--hold", what, &case.to_string()]).output();
    let printed = String::from_utf8(child.unwrap().stdout).unwrap();
    let bytes: Vec<f64> = printed.split_whitespace().map(|bytes| bytes.parse::<f64>().unwrap()).collect();
    Held { resident: bytes[0] / calls as f64, heap: bytes[1] / calls as f64 }
}

fn hold<C: Conversation + Default>(calls: u64, turns: u64, summaries: bool) {
    let words = Words::new();
    let before = begin();
    let held: Vec<C> = (0..calls)
        .map(|call| {
            let mut conversation = C::default();
            play(&mut conversation, &words, call, turns, summaries);
            conversation
        })
        .collect();
    end(before);
    drop(held);
}

/// A conversation whose log has everything.
#[derive(Default)]
struct Released(MessagesManager<PlainMessage>);

impl Conversation for Released {
    fn user(&mut self, text: &str) {
        self.0.user(text);
    }

    fn assistant(&mut self, text: &str) {
        self.0.assistant(text);
        let changes = self.0.changes(LastMessage::Include);
        self.0.acknowledge(&changes);
    }

    fn window(&self) {
        self.0.window();
    }

    fn summarize(&mut self, summary: &str) {
        self.0.summarize(summary);
        self.0.prune_covered();
    }

    fn live(&self) -> usize {
        self.0.live()
    }
}

fn hold_live((calls, turns): (u64, u64), policy: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let words = Arc::new(Words::new());
        let (writer, task) = LogWriter::new(Arc::new(Elsewhere::default()), WriterSettings::default());
        tokio::spawn(task);
        let policy = match policy {
            "default" => Policy::default(),
            _ => {
                let policy = Policy::default().with_tokens(None).with_keep_turns(KEEP_TURNS);
                policy.with_messages(2 * KEEP_TURNS..=SUMMARISE_ABOVE)
            }
        };
        // The first call creates what all calls share.
        let first = live(&words, &writer, policy.clone(), calls, 40).await;
        let before = begin();
        let mut held = Vec::new();
        for call in 0..calls {
            held.push(live(&words, &writer, policy.clone(), call, turns).await);
        }
        end(before);
        drop((first, held));
    });
}

async fn live(words: &Arc<Words>, writer: &LogWriter, policy: Policy, number: u64, turns: u64) -> CallSession {
    let header = CallHeader::new(CallId::new(format!("{number}")).unwrap(), 1_744_815_823_058).unwrap();
    let call = CallBuilder::new(Speaker(words.clone()))
        .config(|config| config.with_policy(policy))
        .log(writer.open(header).unwrap())
        .open()
        .unwrap();
    for turn in 0..turns {
        call.caller_said(words.text(number, 4 * turn, 12)).unwrap();
        let mut reply = call.reply().unwrap();
        let speech = reply.speech();
        while reply.next().await.is_some() {}
        call.playback_started(speech, call.now_ms());
        sleep(Duration::from_secs(3)).await;
        call.playback_finished(speech, call.now_ms());
        sleep(Duration::from_secs(1)).await;
    }
    // The log stores the last turn.
    sleep(Duration::from_secs(10)).await;
    call
}

/// A model that says 25 words.
#[derive(Clone)]
struct Speaker(Arc<Words>);

impl Model for Speaker {
    fn generate(&self, request: ModelRequest) -> Generation {
        let text = self.0.text(1, request.messages.len() as u64 * 4 + 2, 25).to_owned();
        Box::pin(Events([ModelEvent::Text(text.into()), ModelEvent::Stop(StopReason::EndTurn)].into()))
    }
}

struct Events(VecDeque<ModelEvent>);

impl Stream for Events {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

/// Returns the resident bytes.
fn begin() -> u64 {
    ALLOCATOR.reset_peak_memory();
    resident_bytes()
}

/// Prints the resident bytes and those on the heap since [`begin`].
fn end(before: u64) {
    const MUCH: usize = 1 << 32;
    println!("{}", resident_bytes() - before);
    // The allocator knows only the peak. Memory that nobody writes to is not resident.
    drop(black_box(Vec::<u8>::with_capacity(MUCH)));
    println!("{}", ALLOCATOR.get_peak_memory() - MUCH);
}

fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
