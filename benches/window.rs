//! WB: reading the window, and converting it to Bedrock messages. The baseline is the SDK alone on prepared texts.

#![allow(missing_docs, clippy::unwrap_used, reason = "not part of the library")]

mod workload;

use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use verbale::{BedrockMessage, MessagesManager};
use workload::{Floor, Words, play};

fn windows(c: &mut Criterion) {
    let words = Words::new();
    for messages in [20, 200] {
        let mut floor = Floor::default();
        play(&mut floor, &words, 1, messages / 2, false);
        let mut manager = MessagesManager::<BedrockMessage>::new();
        play(&mut manager, &words, 1, messages / 2, false);

        let mut group = c.benchmark_group("window_read");
        group.bench_function(BenchmarkId::new("floor", messages), |b| {
            b.iter(|| floor.list.iter().map(|message| message.text.len()).sum::<usize>());
        });
        group.bench_function(BenchmarkId::new("verbale", messages), |b| {
            let length = |message: &BedrockMessage| message.contents().texts().map(|text| text.len()).sum::<usize>();
            b.iter(|| manager.messages().map(|message| length(&message)).sum::<usize>());
        });
        group.finish();

        let mut group = c.benchmark_group("window_to_bedrock");
        group.bench_function(BenchmarkId::new("floor", messages), |b| {
            b.iter(|| floor.list.iter().map(|message| bare(message.role, &message.text)).collect::<Vec<_>>());
        });
        group.bench_function(BenchmarkId::new("verbale", messages), |b| b.iter(|| manager.to_raw().unwrap()));
        group.finish();
    }
}

fn bare(role: &str, text: &str) -> Message {
    let role = if role == "user" { ConversationRole::User } else { ConversationRole::Assistant };
    Message::builder().role(role).content(ContentBlock::Text(text.to_owned())).build().unwrap()
}

criterion_group!(benches, windows);
criterion_main!(benches);
