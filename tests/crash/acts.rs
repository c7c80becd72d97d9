//! `kill -9` of a service with a tool that acts: each wish has one effect at most, and the next process knows of it.
//!
//! The booking system is a file to which the tool appends a line. The test starts this program again as the service and
//! kills it after a number of lines of its output. The next process takes the call over and asks for the same wish, until a
//! reply that confirms it was played. With `VERBALE_MOTO_URL`, which `.ci/run` sets, the log is reached over HTTP as well.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::sleep;
use verbale::call::{CallBuilder, ReplyEvent};
use verbale::clock::{Clock, IdSource, SystemClock, SystemIds};
use verbale::dynamodb::DynamoLog;
use verbale::log::{CallHeader, CallId, LogErrorKind};
use verbale::message::ResultContent;
use verbale::model::{
    Failure, Generation, Model, ModelError, ModelEvent, ModelRequest, StopReason, Tool, ToolContext, ToolError,
    ToolSpec,
};
use verbale::{Content, Message, MessageId, MessageWrapper, MessagesManager, PlainMessage, ToolCall, Value};

use super::home::{Home, client, make_table, moto};
use super::{HANGS, SEED, START_MS, runtime};
use crate::seeded::Seeded;

const ROUNDS: u64 = 50;
/// The number of rounds with the same call.
const ROUNDS_OF_CALL: u64 = 10;
/// The maximum number of lines after which a process is killed.
const MAX_LINES: u64 = 24;
const VARIABLE: &str = "VERBALE_CRASH_ACTS";
const TOOLS: [&str; 3] = ["once", "looked_up", "key"];

/// One process with the call.
#[derive(Clone)]
struct Process {
    round: u64,
    /// The first wish that is not settled.
    wish: u64,
    directory: PathBuf,
    /// The table over HTTP, or `None` for the embedded DynamoDB.
    server: Option<(String, String)>,
}

#[test]
#[ignore = "the other tests start and kill it"]
fn act() {
    if let Some(process) = Process::of_environment() {
        // The harness has printed the start of a line.
        println!();
        runtime().block_on(process.run());
    }
}

#[test]
fn each_wish_has_one_effect_after_kills() {
    acts_once(None);
}

#[test]
fn each_wish_has_one_effect_after_kills_over_http() {
    let Some(url) = moto() else { return };
    let table = runtime().block_on(make_table(&url, "verbale-acts"));
    acts_once(Some((url, table)));
}

/// The seed repeats the moments of a run, but not the scheduling of the machine.
fn acts_once(server: Option<(String, String)>) {
    let seed = std::env::var("VERBALE_CRASH_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    println!("VERBALE_CRASH_SEED={seed}");
    let chance = Seeded::from(seed);
    let directory = tempfile::tempdir().unwrap();
    let mut process = Process { round: 0, wish: 0, directory: directory.path().to_owned(), server };
    if process.server.is_none() {
        runtime().block_on(process.home().make());
    }
    let (mut confirmed, mut given_up) = (0, 0);
    for round in 0..ROUNDS {
        process.round = round;
        if round > 0 && round.is_multiple_of(ROUNDS_OF_CALL) {
            // Another call knows nothing of this wish.
            process.wish += 1;
        }
        let (lines, after_ms) = (chance.next_u64() % MAX_LINES, chance.next_u64() % 8);
        for line in process.run_until(lines, Duration::from_millis(after_ms)) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["violation", ..] => panic!("round {round}: {line}"),
                ["confirmed", wish] => {
                    assert!(process.effects().contains_key(wish), "round {round}: {line}, and nothing has happened");
                    (process.wish, confirmed) = (wish.parse::<u64>().unwrap() + 1, confirmed + 1);
                }
                ["gives-up", wish] => (process.wish, given_up) = (wish.parse::<u64>().unwrap() + 1, given_up + 1),
                _ => {}
            }
        }
        for (wish, calls) in process.effects() {
            assert_eq!(calls.len(), 1, "round {round}: wish {wish} has the effects of {calls:?}");
        }
    }
    println!("{ROUNDS} rounds: {confirmed} wishes confirmed, {given_up} given up");
    assert!(confirmed > ROUNDS / 5, "{confirmed} wishes of {ROUNDS} rounds are confirmed");
}

impl Process {
    fn of_environment() -> Option<Self> {
        let process = std::env::var(VARIABLE).ok()?;
        let [round, wish, server, directory] = process.splitn(4, ' ').collect::<Vec<_>>()[..] else {
            panic!("{process}")
        };
        Some(Self {
            round: round.parse().unwrap(),
            wish: wish.parse().unwrap(),
            server: server.split_once('|').map(|(url, table)| (url.to_owned(), table.to_owned())),
            directory: PathBuf::from(directory),
        })
    }

    fn home(&self) -> Home {
        Home { directory: self.directory.clone(), fsync: false }
    }

    /// Runs in a process of its own until it has printed `lines` lines and `after` has passed. Returns the lines.
    fn run_until(&self, lines: u64, after: Duration) -> Vec<String> {
        let server = self.server.as_ref().map_or("-".to_owned(), |(url, table)| format!("{url}|{table}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["acts::act", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, format!("{} {} {server} {}", self.round, self.wish, self.directory.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut printed, mut line, mut is_killed) = (Vec::new(), String::new(), false);
        while output.read_line(&mut line).unwrap() > 0 {
            if line.ends_with('\n') && line.starts_with("act: ") {
                printed.push(line["act: ".len()..].trim_end().to_owned());
            }
            line.clear();
            if printed.len() as u64 > lines && !is_killed {
                std::thread::sleep(after);
                child.kill().unwrap();
                // Lines in the pipe count.
                is_killed = true;
            }
        }
        let status = child.wait().unwrap();
        assert!(is_killed, "round {}: the process ended with {status} before it was killed", self.round);
        printed
    }

    fn effects_file(&self) -> PathBuf {
        self.directory.join("effects")
    }

    /// Returns the tool calls that acted, by wish.
    fn effects(&self) -> BTreeMap<String, Vec<String>> {
        let mut effects = BTreeMap::<String, Vec<String>>::new();
        for [wish, call, _] in read_effects(&self.effects_file()) {
            effects.entry(wish).or_default().push(call);
        }
        effects
    }

    fn call_id(&self) -> CallId {
        CallId::new(format!("acts-{}", self.round / ROUNDS_OF_CALL)).unwrap()
    }

    /// Takes the call over, or opens it, and asks for one wish after the other until the process is killed.
    async fn run(&self) {
        let chance = Arc::new(Seeded::from(self.round));
        let home = self.home();
        let log = match &self.server {
            None => home.log(false),
            Some((url, table)) => Arc::new(DynamoLog::new(client(url)).with_table(table.as_str())),
        };
        let (writer, task, _spool) = home.writer(log);
        tokio::spawn(task);
        let (manager, handle) = match writer.resume::<PlainMessage>(&self.call_id(), HANGS).await {
            Ok(resumed) => resumed,
            Err(error) if error.kind() == LogErrorKind::NotOpened => {
                let header = CallHeader::new(self.call_id(), START_MS).unwrap();
                (MessagesManager::new(), writer.open(header).unwrap())
            }
            Err(error) => panic!("{error}"),
        };
        let builder = CallBuilder::new(Naive { chance: chance.clone() }).config(|config| {
            // A busy machine is no reason to give up.
            let config = config.with_first_token_timeout(HANGS).with_event_timeout(HANGS).with_turn_timeout(HANGS);
            config.with_tool_timeout(HANGS).with_log_timeout(HANGS)
        });
        let builder = TOOLS.into_iter().fold(builder, |builder, name| builder.tool(self.tool(name, &chance)));
        let call = builder.log(handle).resume(manager).unwrap();
        let message = |wrapper: &PlainMessage| wrapper.message().clone();
        let messages: Vec<Message> =
            call.conversation().read(|manager| manager.meta_messages().iter().map(message).collect());
        self.check_known(&messages);
        say("ready");
        for wish in self.wish.. {
            for attempt in 0.. {
                say(&format!("asks {wish}"));
                call.caller_said(format!("Wish {wish}, please")).unwrap();
                let mut reply = call.reply().unwrap();
                let (speech, mut text) = (reply.speech(), String::new());
                while let Some(event) = reply.next().await {
                    if let ReplyEvent::Text(piece) = event {
                        text.push_str(&piece);
                    }
                }
                call.playback_started(speech, call.now_ms());
                say("plays");
                sleep(Duration::from_millis(chance.next_u64() % 8)).await;
                if text.trim() == confirmation(wish) {
                    say(&format!("confirmed {wish}"));
                    call.playback_finished(speech, call.now_ms());
                    break;
                }
                call.playback_finished(speech, call.now_ms());
                if attempt == 2 && !text.contains("sorry") {
                    say(&format!("gives-up {wish}"));
                    break;
                }
            }
        }
    }

    /// Prints a violation for each effect of this call that the conversation does not know.
    fn check_known(&self, messages: &[Message]) {
        let contents = || messages.iter().flat_map(|message| message.contents().iter());
        for [wish, call, _] in read_effects(&self.effects_file()) {
            let Some((of_call, id)) = call.split_once('/') else { panic!("{call}") };
            if of_call != self.call_id().as_str() {
                continue;
            }
            let known = contents().filter_map(Content::as_result).find(|result| result.tool_call_id().as_str() == id);
            let is_known = known.is_some_and(|result| match result.outcome() {
                Ok(_) => true,
                Err(error) => error.error_type() == Some("OutcomeUnknown"),
            });
            if !is_known {
                say(&format!("violation: the successor does not know that {call} acted for wish {wish}"));
            }
        }
    }

    fn tool(&self, name: &'static str, chance: &Arc<Seeded>) -> Tool {
        let schema = Value::map([("type", Value::from("object"))]).unwrap();
        let (path, chance, of_call) = (self.effects_file(), chance.clone(), self.call_id());
        let looked_up = path.clone();
        let tool = Tool::raw(ToolSpec::new(name, "Books.", schema).unwrap(), move |wish, context: ToolContext| {
            let (path, chance, of_call) = (path.clone(), chance.clone(), of_call.clone());
            async move {
                let pause = || sleep(Duration::from_millis(chance.next_u64() % 8));
                let (id, key) = (context.tool_call_id(), context.idempotency_key());
                say(&format!("runs {id}"));
                pause().await;
                if name != "key" || !has_key(&path, key) {
                    append(&path, &format!("{} {of_call}/{id} {key}\n", wish_of(&wish)))?;
                }
                say(&format!("acted {id}"));
                pause().await;
                Ok(vec![ResultContent::from("BOOKED")])
            }
        });
        match name {
            "key" => tool.acts_once().deduplicates_by_key(),
            "looked_up" => tool.acts_once().resume(move |context: ToolContext| {
                let is_found = has_key(&looked_up, context.idempotency_key());
                async move { Ok::<_, ToolError>(is_found.then(|| vec![ResultContent::from("BOOKED")])) }
            }),
            _ => tool.acts_once(),
        }
    }
}

/// Prints a line for the test that watches.
fn say(line: &str) {
    println!("act: {line}");
}

fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()
}

fn read_effects(path: &Path) -> Vec<[String; 3]> {
    let effects = std::fs::read_to_string(path).unwrap_or_default();
    let parsed = effects.lines().map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into());
    parsed.map(Result::unwrap).collect()
}

fn has_key(path: &Path, key: &str) -> bool {
    read_effects(path).iter().any(|[_, _, known]| known == key)
}

fn wish_of(arguments: &Value) -> u64 {
    serde_json::to_value(arguments).unwrap()["wish"].as_u64().unwrap()
}

fn confirmation(wish: u64) -> String {
    format!("Wish {wish} is fulfilled.")
}

/// A model that calls the tool whenever the caller asks for something. Some of its answers fail.
struct Naive {
    chance: Arc<Seeded>,
}

impl Model for Naive {
    fn generate(&self, request: ModelRequest) -> Generation {
        let last = request.messages.last().unwrap();
        let asked = last.contents().texts().filter_map(|text| text.strip_prefix("Wish ")?.strip_suffix(", please"));
        let mut events = Vec::new();
        if let Some(wish) = asked.last() {
            let wish: u64 = wish.parse().unwrap();
            let arguments = Value::map([("wish", Value::from(wish))]).unwrap();
            let id = MessageId::from(SystemIds.next_id(SystemClock.now_ms())).to_string();
            let tool = TOOLS[(wish % TOOLS.len() as u64) as usize];
            events.push(Ok(ModelEvent::ToolCall(ToolCall::new(id.as_str(), tool, arguments).unwrap())));
            events.push(Ok(ModelEvent::Stop(StopReason::ToolUse)));
        } else if self.chance.next_u64().is_multiple_of(4) {
            events.push(Ok(ModelEvent::Text("Wish".into())));
            events.push(Err(ModelError::new(Failure::Cut)));
        } else {
            events.push(Ok(ModelEvent::Text(told(&request.messages).into())));
            events.push(Ok(ModelEvent::Stop(StopReason::EndTurn)));
        }
        Box::pin(stream::iter(events).then(|event| async {
            sleep(Duration::from_millis(1)).await;
            event
        }))
    }
}

/// Returns what the results say about the last wish.
fn told(window: &[Message]) -> String {
    let contents = || window.iter().flat_map(|message| message.contents().iter());
    let calls = || contents().filter_map(Content::as_tool_call);
    let wish = calls().next_back().map(|call| wish_of(call.arguments())).unwrap();
    let succeeded = contents()
        .filter_map(Content::as_result)
        .filter(|result| result.outcome().is_ok())
        .any(|result| calls().any(|call| call.id() == result.tool_call_id() && wish_of(call.arguments()) == wish));
    if succeeded { confirmation(wish) } else { format!("Of wish {wish} I know nothing.") }
}
