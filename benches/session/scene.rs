//! Shared by all parts: the texts, a fake Bedrock, and a live call that uses it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_bedrockruntime::config::Builder;
use aws_sdk_bedrockruntime::{Client, types::SystemContentBlock};
use verbale::Policy;
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::call::{CallBuilder, CallSession, ReplyEnd, ReplyEvent};
use verbale::log::{CallHeader, CallId, LogWriter, WriterSettings};
use verbale::memory::ModelSummarizer;
use verbale::testing::{FakeBedrock, ScriptedReply};

use crate::elsewhere::Elsewhere;
use crate::figures::Taken;
use crate::workload::{KEEP_TURNS, SUMMARISE_ABOVE, Words};

pub const MODEL_ID: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
pub const SYSTEM: &str = "You answer the phone of an internet provider. Be short and friendly.";
const START_MS: i64 = 1_744_815_823_058;

/// The delays of a fake Bedrock.
#[derive(Clone, Copy, Default)]
pub struct Pace {
    pub first_token: Duration,
    pub between_events: Duration,
}

/// Returns a fake that replies with 25 words, three per event.
pub fn turns(words: &Arc<Words>, pace: Pace) -> FakeBedrock {
    let words = words.clone();
    FakeBedrock::answering(move |request| {
        ScriptedReply::text(words.text(0, 4 * request.number() + 2, 25))
            .words_per_piece(NonZeroUsize::new(3).unwrap())
            .first_token_after(pace.first_token)
            .between_events(pace.between_events)
    })
}

/// Returns a fake that replies with a summary.
pub fn summaries(words: &Arc<Words>, after: Duration) -> FakeBedrock {
    let words = words.clone();
    FakeBedrock::answering(move |_| ScriptedReply::text(words.summary()).first_token_after(after))
}

/// Returns the caller's texts of a turn.
pub fn said(words: &Words, call: u64, turn: u64) -> Vec<&str> {
    let second = (turn % 8 == 7).then(|| words.text(call, 4 * turn + 1, 12));
    [words.text(call, 4 * turn, 12)].into_iter().chain(second).collect()
}

/// The clients for turns and summaries, which all calls share.
#[derive(Clone)]
pub struct Models {
    pub turns: Client,
    summaries: Client,
}

impl Models {
    pub fn new(turns: Builder, summaries: Builder) -> Self {
        Self {
            turns: Client::from_conf(turn_client(turns).build()),
            summaries: Client::from_conf(summary_client(summaries).build()),
        }
    }

    /// Builds a call with or without summaries.
    pub fn call(&self, summaries: bool) -> CallBuilder {
        let settings = || BedrockSettings::new(MODEL_ID);
        let summarizer = ModelSummarizer::new(BedrockModel::for_summaries(self.summaries.clone(), settings()));
        let policy = Policy::default().with_tokens(None).with_keep_turns(KEEP_TURNS);
        let policy = match summaries {
            true => policy.with_messages(2 * KEEP_TURNS..=SUMMARISE_ABOVE),
            false => policy.with_messages(None),
        };
        CallBuilder::new(BedrockModel::for_turns(self.turns.clone(), settings()))
            .system(SYSTEM)
            .summarizer(summarizer)
            .config(|config| config.with_policy(policy))
    }
}

pub fn system() -> SystemContentBlock {
    SystemContentBlock::Text(SYSTEM.to_owned())
}

/// Returns a writer to a log outside this process.
pub fn log() -> LogWriter {
    let (writer, task) = LogWriter::new(Arc::new(Elsewhere::default()), WriterSettings::default());
    tokio::spawn(task);
    writer
}

pub fn header(call: u64) -> CallHeader {
    CallHeader::new(CallId::new(format!("{call}")).unwrap(), START_MS).unwrap()
}

/// Plays a turn of a live call and returns its times.
pub async fn turn(call: &CallSession, said: &[&str]) -> Taken {
    let begun = Instant::now();
    for said in said {
        call.caller_said(*said).unwrap();
    }
    let mut reply = call.reply().unwrap();
    let speech = reply.speech();
    let mut first = None;
    while let Some(event) = reply.next().await {
        match event {
            ReplyEvent::Text(_) => {
                first.get_or_insert_with(|| begun.elapsed());
            }
            ReplyEvent::Ended(end) => assert!(matches!(end, ReplyEnd::Complete(_)), "{end:?}"),
            _ => {}
        }
    }
    let taken = Taken { first: first.unwrap(), whole: begun.elapsed() };
    call.playback_started(speech, call.now_ms());
    call.playback_finished(speech, call.now_ms());
    taken
}
