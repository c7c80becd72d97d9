//! W5: a call of 1,000 turns to JSON and back. The baseline is `serde_json` on a plain `Vec` of the same texts.

#![allow(clippy::unwrap_used, reason = "not part of the library")]

mod workload;

use serde::{Deserialize, Serialize};
use verbale::{MessagesManager, PlainMessage, Record};
use workload::ratio::{compare, header, keeping_memory, row};
use workload::{Floor, Words, play};

const TURNS: u64 = 1_000;

#[derive(Serialize, Deserialize)]
struct Bare {
    id: String,
    created: i64,
    role: String,
    text: String,
}

fn main() {
    keeping_memory(measure);
}

fn measure() {
    let words = Words::new();
    let mut floor = Floor::default();
    play(&mut floor, &words, 1, TURNS, false);
    let bare = |message: &workload::FloorMessage| Bare {
        id: verbale::MessageId::from(message.id).to_string(),
        created: message.created,
        role: message.role.to_owned(),
        text: message.text.clone(),
    };
    let bare: Vec<Bare> = floor.list.iter().map(bare).collect();
    let bare_json = serde_json::to_string(&bare).unwrap();
    let mut manager = MessagesManager::<PlainMessage>::new();
    play(&mut manager, &words, 1, TURNS, false);
    let json = serde_json::to_string(&manager).unwrap();

    header("turn");
    row("bytes", bare_json.len() as f64, json.len() as f64);
    let read_bare = || serde_json::from_str::<Vec<Bare>>(&bare_json).unwrap();
    let read = || serde_json::from_str::<Vec<Record>>(&json).unwrap();
    let restore = || serde_json::from_str::<MessagesManager<PlainMessage>>(&json).unwrap();
    let write_bare = || serde_json::to_string(&bare).unwrap();
    compare("out", TURNS, write_bare, || serde_json::to_string(&manager).unwrap());
    compare("out, as copied records", TURNS, write_bare, || serde_json::to_string(&manager.records()).unwrap());
    compare("in, as records", TURNS, read_bare, read);
    compare("in, as a conversation", TURNS, read_bare, restore);
}
