//! Calls of the library in this process, set up as `verbale serve` does it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use tokio::time::{Instant, sleep};
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::call::{CallBuilder, CallSession};
use verbale::clock::{Clock, SystemClock};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, LogWriter, WriterSettings};
use verbale::memory::ModelSummarizer;
use verbale::testing::{FakeBedrock, ScriptedReply};

use crate::{Call, TABLE};

const MODEL: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";

pub struct Library {
    writer: LogWriter,
    turns: Client,
    summaries: Client,
}

impl Library {
    pub async fn start(database: &Path) -> Self {
        let dynamo = EmbeddedDynamo::open(database).unwrap();
        create_table(&dynamo.client(), TABLE).await.unwrap();
        let log = DynamoLog::new(dynamo.client()).with_table(TABLE);
        let (writer, task) = LogWriter::new(Arc::new(log), WriterSettings::default());
        tokio::spawn(task);
        let bedrock = FakeBedrock::answering(|request| match request.is_streaming() {
            true => ScriptedReply::text(format!("You said: {} What else?", request.last_text().unwrap_or_default())),
            false => ScriptedReply::text("The caller spoke with the assistant."),
        });
        let clients = [turn_client(bedrock.sdk_config()), summary_client(bedrock.sdk_config())];
        let [turns, summaries] = clients.map(|client| Client::from_conf(client.build()));
        // The requests that the fake has received are no memory of a call.
        tokio::spawn(async move {
            loop {
                sleep(Duration::from_secs(1)).await;
                drop(bedrock.take_requests());
            }
        });
        Self { writer, turns, summaries }
    }

    pub fn open(&self, number: u32) -> Arc<CallSession> {
        let settings = || BedrockSettings::new(MODEL);
        let header = CallHeader::new(CallId::new(format!("alone-{number}")).unwrap(), SystemClock.now_ms()).unwrap();
        let summaries = BedrockModel::for_summaries(self.summaries.clone(), settings());
        let call = CallBuilder::new(BedrockModel::for_turns(self.turns.clone(), settings()))
            .summarizer(ModelSummarizer::new(summaries))
            .log(self.writer.open(header).unwrap());
        Arc::new(call.open().unwrap())
    }
}

impl Call for Arc<CallSession> {
    async fn turn(&mut self, words: &str) -> Duration {
        let begun = Instant::now();
        self.caller_said(words).unwrap();
        let mut reply = self.reply().unwrap();
        reply.next_sentence().await.unwrap();
        let first = begun.elapsed();
        while reply.next_sentence().await.is_some() {}
        let (speech, now_ms) = (reply.speech(), self.now_ms());
        self.playback_started(speech, now_ms);
        self.playback_finished(speech, now_ms);
        first
    }
}
