//! W5: a call of 1,000 turns to JSON and back. The baseline is `serde_json` on a plain `Vec` of the same texts.

#![allow(missing_docs, clippy::unwrap_used, reason = "not part of the library")]

mod workload;

use criterion::{Criterion, criterion_group, criterion_main};
use serde::{Deserialize, Serialize};
use verbale::{MessagesManager, PlainMessage, Record};
use workload::{Floor, Words, play};

#[derive(Serialize, Deserialize)]
struct Bare {
    id: String,
    created: i64,
    role: String,
    text: String,
}

fn json(c: &mut Criterion) {
    let words = Words::new();
    let mut floor = Floor::default();
    play(&mut floor, &words, 1, 1_000, false);
    let bare = |message: &workload::FloorMessage| Bare {
        id: verbale::MessageId::from(message.id).to_string(),
        created: message.created,
        role: message.role.to_owned(),
        text: message.text.clone(),
    };
    let bare: Vec<Bare> = floor.list.iter().map(bare).collect();
    let bare_json = serde_json::to_string(&bare).unwrap();
    let mut manager = MessagesManager::<PlainMessage>::new();
    play(&mut manager, &words, 1, 1_000, false);
    let json = serde_json::to_string(&manager.records()).unwrap();

    let mut group = c.benchmark_group(format!("json_out_{}_bytes_floor_{}", json.len(), bare_json.len()));
    group.bench_function("floor", |b| b.iter(|| serde_json::to_string(&bare).unwrap()));
    group.bench_function("verbale", |b| b.iter(|| serde_json::to_string(&manager.records()).unwrap()));
    group.finish();

    let mut group = c.benchmark_group("json_in");
    group.bench_function("floor", |b| b.iter(|| serde_json::from_str::<Vec<Bare>>(&bare_json).unwrap()));
    group.bench_function("verbale", |b| b.iter(|| serde_json::from_str::<Vec<Record>>(&json).unwrap()));
    group.bench_function("verbale_restored", |b| {
        b.iter(|| {
            let records: Vec<Record> = serde_json::from_str(&json).unwrap();
            MessagesManager::<PlainMessage>::restore(records).unwrap()
        });
    });
    group.finish();
}

criterion_group!(benches, json);
criterion_main!(benches);
