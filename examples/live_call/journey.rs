//! A typed call that is killed or stopped, and continued by another process. The test starts this test program again as the example.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use clap::Parser;
use verbale::dynamodb::DynamoLog;
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, CallLog, LoggedCall};
use verbale::testing::{FakeBedrock, FakeBedrockServer, ScriptedReply};

use crate::arguments::Arguments;

const VARIABLE: &str = "VERBALE_LIVE_CALL";
/// A watchdog, not a measurement.
const HANGS: Duration = Duration::from_secs(300);

#[test]
#[ignore = "the other test starts and kills it"]
fn life() {
    if let Ok(arguments) = std::env::var(VARIABLE) {
        let arguments = Arguments::parse_from(std::iter::once("live_call").chain(arguments.split('\n')));
        crate::run(&arguments).unwrap();
    }
}

/// The example as a process, with a person who types and reads.
struct Process {
    child: Child,
    typed: ChildStdin,
    lines: mpsc::Receiver<String>,
}

impl Process {
    fn start(server: &FakeBedrockServer, directory: &Path, more: &[&str]) -> Self {
        let given = ["--bedrock", "eu.amazon.nova-lite-v1:0", "--log", directory.to_str().unwrap()];
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["journey::life", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(VARIABLE, given.iter().chain(more).copied().collect::<Vec<_>>().join("\n"))
            .env("AWS_ENDPOINT_URL", server.endpoint_url())
            .env("AWS_REGION", "eu-central-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = mpsc::channel();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        std::thread::spawn(move || printed.map_while(|line| sender.send(line).ok()).for_each(drop));
        let typed = child.stdin.take().unwrap();
        Self { child, typed, lines }
    }

    /// Starts a call and returns its id, when the caller is greeted.
    fn start_call(server: &FakeBedrockServer, directory: &Path) -> (Self, String) {
        let process = Self::start(server, directory, &[]);
        let started = process.prints("-- call live-");
        let call_id = started.last().unwrap().rsplit(' ').next().unwrap().to_owned();
        process.prints("assistant  Good morning, Pellam Bank");
        (process, call_id)
    }

    fn types(&mut self, line: &str) {
        writeln!(self.typed, "{line}").unwrap();
    }

    /// Waits for a line with this text, and returns the lines until then.
    fn prints(&self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(text)) {
            match self.lines.recv_timeout(HANGS) {
                Ok(line) => lines.push(line),
                Err(_) => panic!("{text} is not in {lines:#?}"),
            }
        }
        lines
    }
}

impl Process {
    fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a call from a copy of a log that another process is writing. Returns `None` if the copy is torn.
async fn copied(directory: &Path, call_id: &str) -> Option<LoggedCall> {
    let copy = tempfile::tempdir().ok()?;
    for file in std::fs::read_dir(directory).ok()? {
        let file = file.ok()?;
        std::fs::copy(file.path(), copy.path().join(file.file_name())).ok()?;
    }
    let log = DynamoLog::new(EmbeddedDynamo::open(copy.path()).ok()?.client());
    log.read_call(&CallId::new(call_id).ok()?).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_call_continues_in_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("Good morning, Mrs Okonjo."));
    bedrock.reply(ScriptedReply::text("It is").first_token_after(Duration::MAX));
    let server = bedrock.serve().await.unwrap();

    let (mut process, call_id) = Process::start_call(&server, directory.path());
    process.types("This is Nadia Okonjo.");
    process.prints("assistant  Good morning, Mrs Okonjo.");
    process.types("What is my name?");
    bedrock.until(|counters| counters.requests == 2).await;
    // The words of the caller go to the log at once.
    let logged = async {
        let has_words = |call: &LoggedCall| serde_json::to_string(&call.records).unwrap().contains("What is my name?");
        while !copied(directory.path(), &call_id).await.as_ref().is_some_and(has_words) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(HANGS, logged).await.unwrap();
    drop(process); // `kill -9`

    // The next process answers what the first one left unanswered.
    bedrock.reply(ScriptedReply::text("You are Nadia Okonjo."));
    let mut process = Process::start(&server, directory.path(), &["--resume", &call_id]);
    let printed = process.prints("assistant  You are Nadia Okonjo.");
    assert!(!printed.iter().any(|line| line.contains("Good morning, Pellam Bank")), "{printed:#?}");
    let requests = bedrock.requests();
    let last = requests.last().unwrap();
    assert_eq!(last.last_text(), Some("What is my name?"));
    assert!(String::from_utf8_lossy(last.body()).contains("This is Nadia Okonjo."));
    process.types("");
    process.prints("ended by hangup");
    process.prints("equal to the conversation: yes");
    assert!(process.child.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_call_is_closed_and_continues_in_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("Good").first_token_after(Duration::MAX));
    let server = bedrock.serve().await.unwrap();

    let (mut process, call_id) = Process::start_call(&server, directory.path());
    process.types("This is Nadia Okonjo.");
    bedrock.until(|counters| counters.requests == 1).await;
    process.terminate();
    process
        .prints("-- the program is asked to stop: 1 call closed, everything is stored; `--resume` continues the call");
    assert!(process.child.wait().unwrap().success());

    // It answers what the first one left unanswered.
    bedrock.reply(ScriptedReply::text("Good morning, Mrs Okonjo."));
    let mut process = Process::start(&server, directory.path(), &["--resume", &call_id]);
    process.prints("assistant  Good morning, Mrs Okonjo.");
    process.types("");
    process.prints("ended by hangup");
    process.prints("equal to the conversation: yes");
    assert!(process.child.wait().unwrap().success());
}
