//! The cost of the log of a recorded call: requests and write units a turn, with playback reports as a player sends them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use tokio::time::sleep;
use verbale::call::{CallSession, ReplyEvent, SpeechId, Utterance};
use verbale::dynamodb::{DynamoLog, Layout, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, LogWriter, SpoolSettings, WriterSettings};
use verbale::message::ToolError;
use verbale::policy::Policy;
use verbale::testing::SpoolMemory;

use crate::airline::{self, Airline};
use crate::breakdown::{Breakdown, least_units};
use crate::recording::{self, Answer, Recording, Turn};
use crate::{IN_TIME, START_MS};

/// Requests and write units.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    turns: f64,
    requests: f64,
    units: f64,
}

#[tokio::test(start_paused = true)]
async fn turns_cost_little_more_than_their_items() {
    let (calls, conversations) = (phone_calls(), recording::all());
    if calls.is_empty() || conversations.is_empty() {
        return;
    }
    const TALKS: &str = "calls without tools";
    const AIRLINE: &str = "conversations with tools";
    // In spans with a spool, one request a turn and one for each write-ahead are the least.
    for (name, recordings, played, most_requests, most_units) in [
        (TALKS, &calls, Played::new(Layout::Messages), 3.6, 3.6),
        (TALKS, &calls, Played::new(Layout::Messages).with_spool(), 2.6, 2.6),
        (TALKS, &calls, Played::new(Layout::Spans), 1.01, 1.03),
        (TALKS, &calls, Played::new(Layout::Spans).with_spool(), 1.01, 1.03),
        (AIRLINE, &conversations, Played::new(Layout::Messages), 5.5, 6.8),
        (AIRLINE, &conversations, Played::new(Layout::Messages).with_spool(), 4.8, 6.1),
        (AIRLINE, &conversations, Played::new(Layout::Messages).with_spool().compressed(), 4.8, 5.2),
        (AIRLINE, &conversations, Played::new(Layout::Spans).compressed(), 2.0, 3.7),
        (AIRLINE, &conversations, Played::new(Layout::Spans).with_spool(), 1.4, 3.7),
        (AIRLINE, &conversations, Played::new(Layout::Spans).with_spool().compressed(), 1.4, 2.9),
        (AIRLINE, &conversations, Played::new(Layout::Spans).with_spool().without_instructions(), 1.4, 3.0),
        (AIRLINE, &conversations, Played::new(Layout::Spans).with_spool().without_instructions().reading(), 1.1, 2.9),
    ] {
        let (mut sums, mut breakdown) = (Sums::default(), Breakdown::default());
        for recording in recordings {
            sums.add(cost_of(recording, played, &mut breakdown).await);
        }
        let (requests, units) = (sums.requests / sums.turns, sums.units / sums.turns);
        let waits = recordings.iter().flat_map(Recording::answers);
        let waits = waits.filter(|answer| answer.calls.iter().any(|call| !played.is_read_only()(&call.tool))).count();
        let least = |recording| least_units(recording, played.instructions(recording), played.layout);
        let least: usize = recordings.iter().map(least).sum();
        println!(
            "{name}, {played:?}: {requests:.2} requests and {units:.2} write units a turn, headers left out, with \
             {:.2} write-aheads a turn and {:.1} turns a call; the texts alone: {:.2} units",
            waits as f64 / sums.turns,
            sums.turns / recordings.len() as f64,
            least as f64 / sums.turns,
        );
        // A call's header takes 4 units.
        let of_calls = |sum: f64| 1_000.0 * sum / recordings.len() as f64;
        let (requests_of_calls, units_of_calls) = (of_calls(sums.requests), of_calls(sums.units) + 4_000.0);
        println!(
            "  1,000 calls: {requests_of_calls:.0} requests for messages, {units_of_calls:.0} write units with headers, \
             {:.4} US dollars",
            units_of_calls * price_of_write_unit()
        );
        breakdown.print(sums.turns);
        assert!(requests <= most_requests && units <= most_units, "{name}, {played:?}: {requests} and {units}");
    }
}

/// Returns the price of a write unit in US dollars, which `infra/README.md` has for a million.
fn price_of_write_unit() -> f64 {
    let prices = include_str!("../../infra/README.md");
    let row = prices.lines().find(|line| line.starts_with("| write unit")).unwrap();
    let price = row.split('|').nth(2).unwrap().trim().strip_suffix(" per million").unwrap();
    price.parse::<f64>().unwrap() / 1e6
}

/// How the log of a call is written.
#[derive(Debug, Clone, Copy)]
struct Played {
    layout: Layout,
    has_spool: bool,
    is_compressed: bool,
    /// All calls have the same instructions, which the first item of a call holds.
    has_instructions: bool,
    /// No tool acts, so none waits for the log.
    only_reads: bool,
}

impl Played {
    fn new(layout: Layout) -> Self {
        Self { layout, has_spool: false, is_compressed: false, has_instructions: true, only_reads: false }
    }

    fn with_spool(self) -> Self {
        Self { has_spool: true, ..self }
    }

    fn compressed(self) -> Self {
        Self { is_compressed: true, ..self }
    }

    fn without_instructions(self) -> Self {
        Self { has_instructions: false, ..self }
    }

    fn reading(self) -> Self {
        Self { only_reads: true, ..self }
    }

    fn instructions(self, recording: &Recording) -> &str {
        if self.has_instructions { &recording.system } else { "" }
    }

    fn is_read_only(self) -> fn(&str) -> bool {
        if self.only_reads { |_| true } else { airline::is_lookup }
    }
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.turns += other.turns;
        self.requests += other.requests;
        self.units += other.units;
    }
}

/// Plays a call. Returns the cost of its messages.
async fn cost_of(recording: &Recording, played: Played, breakdown: &mut Breakdown) -> Sums {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let log = DynamoLog::new(client.clone()).with_layout(played.layout).with_compression(played.is_compressed);
    let log = Arc::new(log);
    let mut settings = WriterSettings::default();
    if played.has_spool {
        settings = settings.with_spool(Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap()));
    }
    let (writer, task) = LogWriter::new(log.clone(), settings);
    tokio::spawn(task.run());

    let header = |id: &str| CallHeader::new(CallId::new(id).unwrap(), START_MS).unwrap();
    let before = log.cost();
    let empty = Airline::new(recording).open(writer.open(header("empty")).unwrap(), Policy::default(), "");
    empty.close("hangup", IN_TIME).await.unwrap();
    let of_header = log.cost() - before;

    let airline = Airline::new(recording).with_read_only(played.is_read_only());
    let before = log.cost();
    let call = airline.open(writer.open(header("CA1")).unwrap(), Policy::default(), played.instructions(recording));
    if let Some(greeting) = &recording.greeting {
        let speech = call.say(greeting.as_str()).unwrap();
        play(&call, speech, greeting).await;
    }
    for turn in &recording.turns {
        take(&call, &airline, turn).await;
    }
    let closed = call.close("hangup", IN_TIME).await.unwrap();
    assert!(closed.unstored.is_empty() && closed.not_accepted.is_none(), "{closed:?}");
    let cost = log.cost() - before;
    breakdown.add(&client).await;
    Sums {
        turns: recording.turns.len() as f64,
        requests: (cost.requests - of_header.requests) as f64,
        units: cost.write_units - of_header.write_units,
    }
}

/// Plays a turn: the caller speaks, the assistant answers and is heard to the end.
async fn take(call: &CallSession, airline: &Airline, turn: &Turn) {
    let started_ms = call.now_ms();
    call.caller_started_speaking(started_ms);
    sleep(speaking(&turn.caller)).await;
    call.caller_said(Utterance::new(turn.caller.as_str()).with_times(started_ms, call.now_ms())).unwrap();
    if turn.answers.is_empty() {
        return;
    }
    let mut reply = call.reply().unwrap();
    let (speech, mut said, mut started) = (reply.speech(), String::new(), None);
    loop {
        match reply.next().await.unwrap() {
            ReplyEvent::Text(text) => {
                said.push_str(&text);
                if started.is_none() {
                    call.playback_started(speech, call.now_ms());
                    started = Some(tokio::time::Instant::now());
                }
            }
            ReplyEvent::ToolCalled(tool_call) if airline.is_external(tool_call.name()) => {
                sleep(Duration::from_millis(200)).await;
                let result = match airline.act(&tool_call) {
                    Ok(done) => tool_call.success(done),
                    Err(error) => tool_call.failure(ToolError::new(error)),
                };
                call.tool_result(result);
            }
            ReplyEvent::Ended(_) => break,
            _ => {}
        }
    }
    if let Some(started) = started {
        tokio::time::sleep_until(started + speaking(&said)).await;
        call.playback_finished(speech, call.now_ms());
    }
    sleep(Duration::from_millis(400)).await;
}

async fn play(call: &CallSession, speech: SpeechId, text: &str) {
    call.playback_started(speech, call.now_ms());
    sleep(speaking(text)).await;
    call.playback_finished(speech, call.now_ms());
}

/// Returns the time that a text takes, at about 160 words a minute.
fn speaking(text: &str) -> Duration {
    Duration::from_millis(text.len() as u64 * 1_000 / 15)
}

/// Returns the recorded phone calls beside the project, without noises. Prints a note if there are none.
fn phone_calls() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/harper-valley");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: there is no {}", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    paths.iter().map(|path| phone_call(path)).collect()
}

fn phone_call(path: &Path) -> Recording {
    let mut greeting: Option<String> = None;
    let mut turns: Vec<Turn> = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let segment: Json = serde_json::from_str(line).unwrap();
        let words = segment["text"].as_str().unwrap().split_whitespace().filter(|word| !word.starts_with(['[', '<']));
        let text = words.collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            continue;
        }
        let append = |known: &mut String| known.extend([" ", text.as_str()]);
        let is_caller = segment["role"] == "caller";
        match turns.last_mut() {
            Some(Turn { caller, answers }) if is_caller && answers.is_empty() => append(caller),
            _ if is_caller => turns.push(Turn { caller: text, answers: Vec::new() }),
            None => greeting.get_or_insert_default().extend([text.as_str(), " "]),
            Some(Turn { answers, .. }) => match answers.last_mut() {
                Some(answer) => append(&mut answer.text),
                None => answers.push(Answer { text, calls: Vec::new() }),
            },
        }
    }
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    Recording { name, system: "You answer the phone of a bank.".to_owned(), greeting, turns }
}
