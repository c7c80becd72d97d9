//! W1 and W2: the cost of a turn, and its growth with the length of the call. The baseline is a plain `Vec` that does the
//! same work.

#![allow(missing_docs, reason = "the macros of criterion generate undocumented items")]

mod workload;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use verbale::{MessagesManager, PlainMessage};
use workload::{Floor, Words, play};

fn turns(c: &mut Criterion) {
    let words = Words::new();
    for (name, summaries) in [("turn", false), ("turn_with_summaries", true)] {
        let mut group = c.benchmark_group(name);
        for turns in [10, 100, 1_000, 10_000] {
            group.throughput(Throughput::Elements(turns));
            group.bench_function(BenchmarkId::new("floor", turns), |b| {
                b.iter_with_large_drop(|| {
                    let mut floor = Floor::default();
                    play(&mut floor, &words, 1, turns, summaries);
                    floor
                });
            });
            group.bench_function(BenchmarkId::new("verbale", turns), |b| {
                b.iter_with_large_drop(|| {
                    let mut manager = MessagesManager::<PlainMessage>::new();
                    play(&mut manager, &words, 1, turns, summaries);
                    manager
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, turns);
criterion_main!(benches);
