//! WF: the time and memory of a fork of a long conversation, and of 10,000 live forks. The baselines are a `clone` of the
//! manager and a copy of the same strings in a plain `Vec`. Bytes are the peak taken from the allocator.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "not part of the library"
)]

mod workload;

use std::alloc::System;
use std::hint::black_box;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion};
use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait};
use verbale::conversation::Conversation;
use verbale::log::CallId;
use verbale::{Content, MessageId, MessagesManager, PlainMessage, ToolCall, Value};
use workload::{Floor, Words, play};

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<System> = PeakMemAlloc::system();

const TURNS: u64 = 10_000;
const FORKS: usize = 10_000;

type Manager = MessagesManager<PlainMessage>;

struct Call {
    name: &'static str,
    /// A manager that was never forked.
    whole: Manager,
    forked: Manager,
    floor: Floor,
    /// The names and messages of the places to fork at.
    places: [(&'static str, MessageId); 2],
}

fn call(words: &Words, name: &'static str, summaries: bool) -> Call {
    let mut whole = Manager::new();
    play(&mut whole, words, 1, TURNS, summaries);
    let mut floor = Floor::default();
    play(&mut floor, words, 1, TURNS, summaries);
    let all = whole.meta_messages();
    let places = [("end", all.last().unwrap().id()), ("middle", all.get(all.len() / 2).unwrap().id())];
    let mut forked = whole.clone();
    forked.fork(&places[0].1, "CA1").unwrap(); // the first fork moves the list into shared memory
    Call { name, forked, whole, floor, places }
}

fn main() {
    let words = Words::new();
    let mut calls = [call(&words, "plain", false), call(&words, "with_summaries", true)];

    println!("conversation    fork at     fork B    turn after it B       clone B  deep copy B");
    for Call { name, whole, forked, floor, places } in &mut calls {
        let clone = bytes_of(|| whole.clone());
        let deep = bytes_of(|| floor.list.clone());
        for (place, at) in places {
            let fork = bytes_of(|| forked.fork(at, "CA1").unwrap());
            let turn = bytes_of(|| {
                let mut fork = forked.fork(at, "CA1").unwrap();
                workload::turn(&mut fork, &words, 2, 0);
                fork
            });
            println!("{name:15} {place:8} {fork:9} {:19} {clone:12} {deep:12}", turn - fork);
        }
    }

    println!("\n10,000 live forks     seconds   B per fork");
    report("generations", || generations(&words));
    let mut source = with_tool_calls(1_000);
    for (name, place) in [("of one, at its end", 3_999), ("of one, in the middle", 2_001)] {
        let at = source.meta_messages()[place].id();
        report(name, || {
            let fork = |_| {
                let mut fork = source.fork(&at, "CA1").unwrap();
                fork.add_user("Another question.").unwrap();
                fork
            };
            (0..FORKS).map(fork).collect::<Vec<_>>()
        });
    }

    println!("\n10,000 live forks of a `Conversation` of 400 messages");
    let source = Conversation::from_manager(id(0), with_tool_calls(100));
    for (name, place) in [("at its end", 399), ("in the middle", 201)] {
        let at = source.read(|manager| manager.meta_messages()[place].id());
        report(name, || {
            let fork = |number| {
                let fork = source.fork(&at, id(number)).unwrap();
                fork.add_user("Another question.").unwrap();
                fork
            };
            (1..=FORKS).map(fork).collect::<Vec<_>>()
        });
    }
    report("generations", || {
        let mut all = vec![source.clone()];
        let mut at = source.read(|manager| manager.meta_messages()[399].id());
        for number in 1..=FORKS {
            let fork = all[number - 1].fork(&at, id(number)).unwrap();
            let said = "Another question.";
            at = if number % 2 == 0 { fork.add_assistant(said) } else { fork.add_user(said) }.unwrap();
            all.push(fork);
        }
        all
    });

    let mut criterion = Criterion::default().configure_from_args();
    for Call { name, whole, forked, floor, places } in &mut calls {
        let mut group = criterion.benchmark_group(format!("fork_{name}"));
        group.bench_function(BenchmarkId::new("deep_copy", TURNS), |b| b.iter_with_large_drop(|| floor.list.clone()));
        group.bench_function(BenchmarkId::new("clone", TURNS), |b| b.iter_with_large_drop(|| whole.clone()));
        for (place, at) in places {
            group.bench_function(BenchmarkId::new(format!("fork_{place}"), TURNS), |b| {
                b.iter_with_large_drop(|| forked.fork(at, "CA1").unwrap());
            });
        }
        group.finish();
    }
    criterion.final_summary();
}

/// Returns forks of forks. Each has one message of its own.
fn generations(words: &Words) -> Vec<Manager> {
    let mut all = vec![Manager::new()];
    let mut at = all[0].add_user("Hello").unwrap().id();
    for generation in 0..FORKS {
        let mut fork = all[generation].fork(&at, "CA1").unwrap();
        let text = words.text(1, generation as u64, 12);
        let entry = if generation % 2 == 0 { fork.add_assistant(text) } else { fork.add_user(text) };
        at = entry.unwrap().id();
        all.push(fork);
    }
    all
}

fn id(number: usize) -> CallId {
    CallId::new(format!("CA{number}")).unwrap()
}

/// Returns a conversation whose turns have a tool call each.
fn with_tool_calls(turns: usize) -> Manager {
    let mut manager = Manager::new();
    for turn in 0..turns {
        let call = ToolCall::new(format!("call_{turn}"), "lookup", Value::Null).unwrap();
        manager.add_user("A question about my order.").unwrap();
        manager.add_assistant([Content::from("One moment."), call.clone().into()]).unwrap();
        manager.add_user(call.success(["found"])).unwrap();
        manager.add_assistant("It comes today.").unwrap();
    }
    manager
}

fn report<T>(name: &str, make: impl FnOnce() -> Vec<T>) {
    let mut seconds = 0.0;
    let bytes = bytes_of(|| {
        let start = Instant::now();
        let all = make();
        seconds = start.elapsed().as_secs_f64();
        all
    });
    println!("{name:21} {seconds:7.3} {:10}", bytes / FORKS);
}

fn bytes_of<T>(make: impl FnOnce() -> T) -> usize {
    ALLOCATOR.reset_peak_memory();
    let made = black_box(make());
    let bytes = ALLOCATOR.get_peak_memory();
    drop(made);
    bytes
}
