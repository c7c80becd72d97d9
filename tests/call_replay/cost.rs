//! The cost of the log of a recorded call: requests and write units a turn, with playback reports as a player sends them.

use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::runtime::Builder;
use tokio::time::sleep;
use verbale::Policy;
use verbale::call::{CallSession, ReplyEvent, SpeechId, Utterance};
use verbale::dynamodb::{DynamoLog, Layout, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, LogWriter, SpoolSettings, WriterSettings};
use verbale::message::ToolError;
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

const TALKS: &str = "phone calls";
const AIRLINE: &str = "conversations with tools";

/// The tables of `docs/costs.md`. `COSTS=write` writes them there.
#[test]
fn page_of_costs_is_measured() {
    let (calls, conversations) = (phone_calls(), recording::all());
    if calls.is_empty() || conversations.is_empty() {
        return;
    }
    let mut turns = vec![
        "| a turn, in requests and write units | without a spool | with a spool | with a spool, plain texts | the \
         texts alone |"
            .to_owned(),
        "| --- | --- | --- | --- | --- |".to_owned(),
    ];
    let mut thousands = vec![
        "| calls | layout | requests of messages | write units | US dollars |".to_owned(),
        "| --- | --- | --- | --- | --- |".to_owned(),
    ];
    for (name, recordings) in [(TALKS, &calls), (AIRLINE, &conversations)] {
        for layout in [Layout::Messages, Layout::Spans] {
            let least =
                recordings.iter().map(|recording| least_units(recording, &recording.system, layout == Layout::Spans));
            let least = least.sum::<usize>() as f64;
            let unspooled = sums_of(name, recordings, Played::new(layout));
            let spooled = sums_of(name, recordings, Played::new(layout).with_spool());
            let plain = sums_of(name, recordings, Played::new(layout).with_spool().plain());
            let all = [unspooled, spooled, plain].map(Sums::of_turn).join(" | ");
            let least = format!("{:.1} units", least / unspooled.turns);
            turns.push(format!("| {name}, `Layout::{layout:?}` | {all} | {least} |"));
            if layout == Layout::Spans {
                let hasty = sums_of(name, recordings, Played { wait: Some(2), ..Played::new(layout) });
                let hasty = hasty.of_turn();
                turns.push(format!("| {name}, `Layout::{layout:?}`, a wait of 2 s | {hasty} | | | {least} |"));
                // The targets. Without a spool, each act takes one more request.
                let (requests, units) = if name == TALKS { (1.1, 1.1) } else { (1.5, 2.9) };
                assert!(spooled.requests <= requests * spooled.turns, "{name}: {}", spooled.of_turn());
                assert!(spooled.units <= units * spooled.turns, "{name}: {}", spooled.of_turn());
                let acts = 1.1 * acts_of(recordings) as f64;
                assert!(unspooled.requests <= requests * unspooled.turns + acts, "{name}: {}", unspooled.of_turn());
            }
            let of = format!("| {name} of {:.1} turns | `Layout::{layout:?}`", spooled.turns / recordings.len() as f64);
            thousands.push(format!("{of} | {} |", spooled.of_thousand(recordings.len())));
            if plain.of_turn() != spooled.of_turn() {
                thousands.push(format!("{of}, plain texts | {} |", plain.of_thousand(recordings.len())));
            }
        }
    }
    assert_in_page(&turns);
    assert_in_page(&thousands);
}

/// The figures in the text of `docs/costs.md`.
#[test]
fn instructions_and_acts_cost_what_the_page_says() {
    let conversations = recording::all();
    if conversations.is_empty() {
        return;
    }
    let spooled = Played::new(Layout::Spans).with_spool().without_instructions();
    for (played, expected) in [(spooled, "1.4 and 2.6"), (spooled.reading(), "1.1 and 2.4")] {
        assert_eq!(sums_of(AIRLINE, &conversations, played).of_turn(), expected, "{played:?}");
    }
}

/// Plays the recordings, on every core.
fn sums_of(name: &str, recordings: &[Recording], played: Played) -> Sums {
    let (sums, breakdown) = (Mutex::new(Sums::default()), Mutex::new(Breakdown::default()));
    let next = AtomicUsize::new(0);
    let play = || {
        while let Some(recording) = recordings.get(next.fetch_add(1, Ordering::Relaxed)) {
            let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
            let (cost, bytes) = runtime.block_on(cost_of(recording, played));
            sums.lock().unwrap().add(cost);
            breakdown.lock().unwrap().add(bytes);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(play);
        }
    });
    let (sums, breakdown) = (sums.into_inner().unwrap(), breakdown.into_inner().unwrap());
    let waits = if played.only_reads { 0 } else { acts_of(recordings) };
    println!("{name}, {played:?}: {}, with {:.2} write-aheads a turn", sums.of_turn(), waits as f64 / sums.turns);
    breakdown.print(sums.turns);
    sums
}

/// Returns the number of answers with a tool that acts, which waits for the log.
fn acts_of(recordings: &[Recording]) -> usize {
    let answers = recordings.iter().flat_map(Recording::answers);
    answers.filter(|answer| answer.calls.iter().any(|call| !airline::is_lookup(&call.tool))).count()
}

/// Asserts that the page of costs has a table, which its first line begins.
fn assert_in_page(table: &[String]) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/costs.md");
    let page = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let first = lines.iter().position(|line| *line == table[0]).expect("the page has no such table");
    let rows = lines[first..].iter().take_while(|line| line.starts_with('|')).count();
    if std::env::var("COSTS").is_ok_and(|value| value == "write") {
        let (before, after) = (&lines[..first], &lines[first + rows..]);
        let table: Vec<&str> = table.iter().map(String::as_str).collect();
        std::fs::write(path, [before, &table, after].concat().join("\n") + "\n").unwrap();
        return;
    }
    assert_eq!(lines[first..first + rows], *table, "repeat with COSTS=write to update the page");
}

/// Returns the price of a write unit in US dollars.
fn price_of_write_unit() -> f64 {
    let prices: Json = serde_json::from_str(include_str!("../../infra/prices.json")).unwrap();
    prices["dollarsPerMillionWriteUnits"].as_f64().unwrap() / 1e6
}

/// How the log of a call is written.
#[derive(Debug, Clone, Copy)]
struct Played {
    layout: Layout,
    has_spool: bool,
    is_plain: bool,
    /// All calls have the same instructions, which the first item of a call holds.
    has_instructions: bool,
    /// No tool acts, so none waits for the log.
    only_reads: bool,
    /// How long a turn waits for its last change, in seconds; `None` is the default.
    wait: Option<u64>,
}

impl Played {
    fn new(layout: Layout) -> Self {
        Self { layout, has_spool: false, is_plain: false, has_instructions: true, only_reads: false, wait: None }
    }

    fn with_spool(self) -> Self {
        Self { has_spool: true, ..self }
    }

    fn plain(self) -> Self {
        Self { is_plain: true, ..self }
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
    fn of_turn(self) -> String {
        format!("{:.1} and {:.1}", self.requests / self.turns, self.units / self.turns)
    }

    /// The requests, the units and the price of 1,000 calls. A call's header takes 4 units.
    fn of_thousand(self, calls: usize) -> String {
        let thousand = |sum: f64| 1_000.0 * sum / calls as f64;
        let hundreds = |sum: f64| format!("{:.0}", (sum / 100.0).round() * 100.0);
        let grouped = |sum: f64| {
            let digits = hundreds(sum);
            let (thousands, rest) = digits.split_at(digits.len().saturating_sub(3));
            format!("{thousands},{rest}")
        };
        let (requests, units) = (thousand(self.requests), thousand(self.units));
        let dollars = (units + 4_000.0) * price_of_write_unit();
        format!("{} | {} + 4,000 | {dollars:.4}", grouped(requests), grouped(units))
    }

    fn add(&mut self, other: Self) {
        self.turns += other.turns;
        self.requests += other.requests;
        self.units += other.units;
    }
}

/// Plays a call. Returns the cost and the bytes of its messages.
async fn cost_of(recording: &Recording, played: Played) -> (Sums, Breakdown) {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let log = DynamoLog::new(client.clone()).with_layout(played.layout).with_compression(!played.is_plain);
    let log = Arc::new(log);
    let mut settings = WriterSettings::default();
    if played.has_spool {
        settings = settings.with_spool(Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap()));
    }
    if let Some(seconds) = played.wait {
        settings = settings.with_turn_wait(Duration::from_secs(seconds));
    }
    let (writer, task) = LogWriter::new(log.clone(), settings);
    tokio::spawn(task);

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
    let sums = Sums {
        turns: recording.turns.len() as f64,
        requests: (cost.requests - of_header.requests) as f64,
        units: cost.write_units - of_header.write_units,
    };
    (sums, Breakdown::of(&client).await)
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
