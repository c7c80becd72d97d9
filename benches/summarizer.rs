//! The cost of an extractive summary, and its growth with the length of the call.

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use verbale::memory::ExtractiveSummarizer;
use verbale::{Content, MessagesManager, PlainMessage, Summarizing, ToolCall, Value};

/// About 150 bytes each.
const CALLER: [&str; 4] = [
    "hi my name is jennifer brown um i would like to transfer one hundred and forty six dollars from my checking account \
     to my savings account please if you can",
    "Sure! My user ID is mia_li_3668, and I'd like to fly from New York to Seattle on May 20th, after 11 AM if there is \
     anything, in economy class please.",
    "okay yeah no i don't think so that's it you've been very helpful thank you so much for your help today i hope you \
     have a great day and bye bye now",
    "[noise] the address is five five two main street harper valley california four one nine one two and my phone number \
     is five eight eight seven five seven",
];
const ASSISTANT: [&str; 3] = [
    "I found two flights: HAT136 leaves at 07:00 PM and costs $152, HAT083 leaves at 01:00 AM and costs $100. Which one \
     would you like me to book for you?",
    "alright one hundred and forty six dollars has been transferred from your checking account to your savings account is \
     there anything else i can help with",
    "Unfortunately, I cannot cancel reservation SI5UKW: it was created on 2024-05-11, without insurance. I will send you \
     an email about what else can be done.",
];

/// Returns a call of `messages` messages. Two of every ten are a tool call and its result.
fn call(messages: usize) -> Summarizing {
    let mut manager = MessagesManager::<PlainMessage>::new();
    for turn in 0..messages / 10 {
        for pair in 0..4 {
            manager.add_user(format!("{} {turn}", CALLER[(turn + pair) % 4])).unwrap();
            manager.add_assistant(format!("{} {turn}", ASSISTANT[(turn + pair) % 3])).unwrap();
        }
        manager.add_user("Yes, please.").unwrap();
        let arguments = Value::map([("flight", "HAT136"), ("date", "2024-05-20")]).unwrap();
        let tool_call = ToolCall::new(format!("call-{turn}"), "book", arguments).unwrap();
        let result = tool_call.success([r#"{"reservation_id":"HATHAT","flights":[{"price":152},{"price":103}]}"#]);
        manager.add_assistant(Content::from(tool_call)).unwrap();
        manager.add_user(result).unwrap();
        manager.add_assistant("It is booked.").unwrap();
    }
    manager.summarizing().unwrap()
}

fn summaries(c: &mut Criterion) {
    let mut group = c.benchmark_group("extractive");
    for messages in [20, 100, 1_000, 10_000] {
        let summarizing = call(messages);
        group.throughput(Throughput::Elements(messages as u64));
        group.bench_function(BenchmarkId::new("messages", messages), |b| {
            b.iter(|| ExtractiveSummarizer::default().summary(black_box(&summarizing)));
        });
    }
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user(CALLER.concat().repeat(1_000_000 / CALLER.concat().len())).unwrap();
    manager.add_assistant("One moment.").unwrap();
    let speech = manager.summarizing().unwrap();
    group.throughput(Throughput::Elements(1));
    group.bench_function("one message of 1 MB", |b| {
        b.iter(|| ExtractiveSummarizer::default().summary(black_box(&speech)))
    });
    group.finish();
}

criterion_group!(benches, summaries);
criterion_main!(benches);
