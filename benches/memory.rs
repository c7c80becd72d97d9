//! W3: the resident memory of calls, each measured in its own process. The baseline is a plain `Vec` of the same texts.
//! Linux only.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "not part of the library")]

mod workload;

use std::process::Command;
use std::{env, fs};

use verbale::{MessagesManager, PlainMessage};
use workload::{Conversation, Floor, Words, play};

/// The number of calls, the turns of each, and whether there are summaries.
const CASES: [(u64, u64, bool); 3] = [(10_000, 40, true), (10_000, 40, false), (100, 10_000, false)];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let Some([what, case]) =
        arguments.iter().position(|a| a == "--hold").and_then(|at| arguments.get(at + 1..at + 3))
    {
        let (calls, turns, summaries) = *CASES.get(case.parse::<usize>().unwrap()).unwrap();
        match what.as_str() {
            "floor" => hold::<Floor>(calls, turns, summaries),
            _ => hold::<MessagesManager<PlainMessage>>(calls, turns, summaries),
        }
        return;
    }
    println!("calls  turns  summaries   floor B/call  verbale B/call  ratio   floor B/message  verbale B/message");
    for (case, (calls, turns, summaries)) in CASES.iter().enumerate() {
        let measured = ["floor", "verbale"].map(|what| {
            let child = Command::new(env::current_exe().unwrap()).args(["--hold", what, &case.to_string()]).output();
            let output = String::from_utf8(child.unwrap().stdout).unwrap();
            output.trim().parse::<f64>().unwrap() / *calls as f64
        });
        let [floor, verbale] = measured;
        let messages = 2.0 * *turns as f64;
        println!(
            "{calls:<6} {turns:<6} {summaries:<9} {floor:14.0} {verbale:15.0} {:6.2} {:17.0} {:18.0}",
            verbale / floor,
            floor / messages,
            verbale / messages
        );
    }
}

fn hold<C: Conversation + Default>(calls: u64, turns: u64, summaries: bool) {
    let words = Words::new();
    let before = resident_bytes();
    let held: Vec<C> = (0..calls)
        .map(|call| {
            let mut conversation = C::default();
            play(&mut conversation, &words, call, turns, summaries);
            conversation
        })
        .collect();
    println!("{}", resident_bytes() - before);
    drop(held);
}

fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
