//! The program, run as a user runs it. The commands in `docs/program.md` print what the page shows.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod callbacks;
mod calls;
mod chat;
mod faults;
mod many;
mod modality;
mod operate;
mod pages;
mod phone;
mod prompt;
mod report;
mod security;
#[path = "../../../src/clock/seeded.rs"]
mod seeded;
mod serve;
mod server;
mod service;
mod tail;
mod twilio;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use tempfile::TempDir;
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallChange, CallHeader, CallId, CallLog, JsonLines};

use crate::calls::START_MS;

/// A directory with the calls as JSON Lines in `calls`.
async fn with_calls() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    calls::play(Arc::new(JsonLines::new(folder.path().join("calls")))).await;
    folder
}

/// Runs a line of a shell, without the shell. Its first word is `verbale`.
fn run(folder: &Path, line: &str) -> Output {
    start(&mut program(folder, line)).wait_with_output().unwrap()
}

fn start(program: &mut Command) -> Child {
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn program(folder: &Path, line: &str) -> Command {
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], "verbale", "{line}");
    let mut program = Command::new(env!("CARGO_BIN_EXE_verbale"));
    program.args(&words[1..]).current_dir(folder).env_remove("VERBALE_LOG").env("COLUMNS", "100");
    program
}

/// Returns what a terminal shows, and the exit status where it is not 0.
fn shown(output: &Output) -> String {
    let mut shown = String::from_utf8(output.stdout.clone()).unwrap() + std::str::from_utf8(&output.stderr).unwrap();
    if let Some(status) = output.status.code().filter(|status| *status != 0) {
        shown.push_str(&format!("(exit status {status})\n"));
    }
    shown
}

/// Each block of `console` in the page is a command after `$` and what it prints. `PROGRAM_PAGE=write` writes the page.
#[tokio::test(start_paused = true)]
async fn page_shows_what_the_program_prints() {
    let folder = with_calls().await;
    operate::with_spool(folder.path()).await;
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/program.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let mut now = String::new();
    let mut commands = 0;
    let mut rest = text.as_str();
    while let Some((before, block)) = rest.split_once("```console\n") {
        let (block, after) = block.split_once("```").unwrap();
        now += &format!("{before}```console\n");
        let lines: Vec<_> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        let shown: Vec<_> =
            lines.iter().map(|line| format!("$ {line}\n{}", shown(&run(folder.path(), line)))).collect();
        commands += shown.len();
        now += &shown.join("\n");
        now += "```";
        rest = after;
    }
    now += rest;
    assert!(commands > 8, "{commands} commands");
    if std::env::var("PROGRAM_PAGE").is_ok_and(|mode| mode == "write") {
        std::fs::write(&page, &now).unwrap();
    }
    assert!(text == now, "the page differs; PROGRAM_PAGE=write cargo test --test program writes:\n{now}");
}

/// Copies the calls into a table in `db`.
async fn embedded(folder: &TempDir) -> (DynamoLog, Client) {
    // The embedded DynamoDB works in real time.
    tokio::time::resume();
    let client = EmbeddedDynamo::open(folder.path().join("db")).unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let (from, to) = (JsonLines::new(folder.path().join("calls")), DynamoLog::new(client.clone()));
    for id in ["ferry-1", "ferry-2", "ferry-3"] {
        copy(&CallId::new(id).unwrap(), &from, &to).await;
    }
    (to, client)
}

/// Copies a call from one log to another one.
async fn copy(call_id: &CallId, from: &dyn CallLog, to: &dyn CallLog) {
    let call = from.read_call(call_id).await.unwrap();
    let (header, lease) = (call.header.clone().unwrap(), call.lease().unwrap());
    to.open_call(&CallHeader::new(call_id.clone(), header.started_ms()).unwrap()).await.unwrap();
    for record in &call.records {
        to.put_record(&lease, record).await.unwrap();
    }
    if let Some(call_end) = header.call_end().cloned() {
        to.change_call(call_id, &CallChange::Close { lease, call_end }).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn logs_of_each_kind_show_the_same() {
    let folder = with_calls().await;
    embedded(&folder).await;
    for command in ["show ferry-1", "check ferry-2", "list --day 2025-10-20", "list --day 2025-10-20 --json"] {
        let of = |log: &str| shown(&run(folder.path(), &format!("verbale {command} --log {log}")));
        assert_eq!(of("embedded:db"), of("jsonl:calls"), "{command}");
    }
}

/// The DynamoDB of others, where `.ci/run` has started one.
#[tokio::test(start_paused = true)]
async fn commands_on_emulators_show_the_same() {
    for name in ["moto", DYNALITE] {
        let url = std::env::var(format!("VERBALE_{}_URL", name.to_uppercase())).unwrap_or_default();
        if !url.is_empty() {
            commands_show_the_same(name, &url).await;
            println!("held: {name}");
        }
    }
}

/// dynalite has no transactions, in which contents are stored.
const DYNALITE: &str = "dynalite";

/// Runs the commands on a server of DynamoDB at a URL, and on files.
async fn commands_show_the_same(name: &str, url: &str) {
    let folder = with_calls().await;
    let run = |command: &str, log: &str| shown(&run(folder.path(), &format!("verbale {command} --log {log}")));
    let log = format!("dynamodb://verbale-cli-{} --endpoint {url}", std::process::id());
    let created = run("table create", &log);
    assert!(created.ends_with(" is ready\n"), "{created}");
    for id in ["ferry-1", "ferry-2"] {
        let format = if name == DYNALITE { "openai" } else { "records" };
        run(&format!("export {id} --format {format} -o {id}.file"), "jsonl:calls");
        if name == DYNALITE {
            leave_out_instructions(&folder.path().join(format!("{id}.file")));
        }
        for log in [log.as_str(), "jsonl:copies"] {
            let imported = run(&format!("import {id}.file --call {id} --format {format} --started {START_MS}"), log);
            assert!(imported.starts_with(&format!("imported call {id} with ")), "{imported}");
        }
    }
    for command in [
        "list --day 2025-10-20",
        "list --day 2025-10-20 --limit 1 --json",
        "show ferry-1",
        "show ferry-1 --at 2",
        "check --day 2025-10-20",
        "why ferry-2",
        "tail ferry-1",
        "report ferry-1",
        "export --day 2025-10-20",
        "export ferry-1 --format openai",
        "hold ferry-1 --yes",
        "erase ferry-1 --yes",
        "release ferry-1 --yes",
        "erase ferry-1 --yes",
        "show ferry-1",
        "list --day 2025-10-20",
    ] {
        let without_cursor = |shown: String| shown.split(" --after ").next().unwrap_or_default().to_owned();
        let (there, here) = (run(command, &log), run(command, "jsonl:copies"));
        assert_eq!(without_cursor(there), without_cursor(here), "{command}");
    }
    assert!(run("table check", &log).contains("protection from deletion"));
    assert!(run("table cost --day 2025-10-20", &log).starts_with("1 call with "));
}

/// Removes the instructions from a file of OpenAI's messages. They are stored as a content.
fn leave_out_instructions(file: &Path) {
    let mut messages: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let list = messages.as_array_mut().unwrap();
    list.retain(|message| message["role"] != "system");
    std::fs::write(file, messages.to_string()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn json_has_one_object_a_line() {
    let folder = with_calls().await;
    for (command, lines) in [("list --day 2025-10-20", 3), ("show ferry-1", 12), ("check --day 2025-10-20", 2)] {
        let output = run(folder.path(), &format!("verbale {command} --log jsonl:calls --json"));
        let text = String::from_utf8(output.stdout).unwrap();
        let objects: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects.len(), lines, "{command}: {text}");
        assert!(objects.iter().all(serde_json::Value::is_object));
    }
}

/// Only `show` shows the words of callers.
#[tokio::test(start_paused = true)]
async fn list_check_and_errors_hide_what_was_said() {
    let folder = with_calls().await;
    for command in [
        "list --day 2025-10-20",
        "list --day 2025-10-20 --json",
        "check --day 2025-10-20",
        "check ferry-2 --json",
        "why ferry-1",
    ] {
        let shown = shown(&run(folder.path(), &format!("verbale {command} --log jsonl:calls")));
        for said in ["ten thirty", "10:30", "seat", "Good morning"] {
            assert!(!shown.contains(said), "{command}: {shown}");
        }
    }
}

/// The day of an operator: find a call, export it, keep it, and erase it.
#[tokio::test(start_paused = true)]
async fn erased_call_is_gone_and_a_held_one_stays() {
    let folder = with_calls().await;
    let run = |command: &str| shown(&run(folder.path(), &format!("verbale {command} --log jsonl:calls")));
    let asked = run("erase ferry-1");
    assert!(
        asked.contains("This erases call ferry-1 of 2025-10-20 07:15:02 UTC with 12 messages, for good."),
        "{asked}"
    );
    assert!(asked.contains("Add --yes") && asked.ends_with("(exit status 2)\n"), "{asked}");
    assert!(run("hold ferry-1 --yes").starts_with("held call ferry-1"));
    assert!(run("list --day 2025-10-20 --state held").contains("  held "));
    let held = run("erase ferry-1 --yes");
    assert!(held.contains("hold") && held.ends_with("(exit status 1)\n"), "{held}");
    assert!(run("show ferry-1").contains("neither expires nor can be erased"));
    assert!(run("release ferry-1 --yes").starts_with("released call ferry-1"));
    assert_eq!(run("erase ferry-1 --yes"), "erased call ferry-1 of 2025-10-20 07:15:02 UTC with 12 messages\n");
    for command in ["show ferry-1", "check ferry-1", "export ferry-1"] {
        let gone = run(command);
        assert!(gone.contains("erased") && gone.ends_with("(exit status 3)\n"), "{command}: {gone}");
    }
    assert!(!run("list --day 2025-10-20").contains("ferry-1"));
    assert!(run("hold ferry-9 --yes").ends_with("(exit status 3)\n"));
    assert_eq!(run("sweep 2025-10-20"), "0 erased calls swept\n");
}

#[tokio::test(start_paused = true)]
async fn calls_are_exported_in_each_format() {
    let folder = with_calls().await;
    for format in ["records", "json-lines", "chat", "converse", "openai", "versioned"] {
        let output = run(folder.path(), &format!("verbale export ferry-1 --format {format} --log jsonl:calls"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("Shall I book one?"), "{format}: {text}");
    }
    let of_a_day = run(folder.path(), "verbale export --day 2025-10-20 --format csv -o calls.csv --log jsonl:calls");
    assert_eq!(shown(&of_a_day), "3 calls written to calls.csv\n");
    let mut csv = csv::Reader::from_path(folder.path().join("calls.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    let output = run(folder.path(), "verbale export --day 2025-10-20 --log jsonl:calls");
    assert_eq!(rows.len(), String::from_utf8(output.stdout).unwrap().lines().count());
    let heard = rows.iter().find(|row| &row[0] == "ferry-1" && &row[9] == "true").unwrap();
    assert_eq!((&heard[3], &heard[8]), ("assistant", "It is booked."));
    let refused = shown(&run(folder.path(), "verbale export --day 2025-10-20 --format chat --log jsonl:calls"));
    assert!(refused.ends_with("(exit status 2)\n"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn pages_follow_each_other() {
    let folder = with_calls().await;
    for (filter, expected) in
        [("", &["ferry-3", "ferry-2", "ferry-1"][..]), (" --state ended", &["ferry-2", "ferry-1"])]
    {
        let mut listed = Vec::new();
        let mut after = String::new();
        loop {
            let line = format!("verbale list --day 2025-10-20{filter} --limit 1 --json --log jsonl:calls{after}");
            let output = run(folder.path(), &line);
            let text = String::from_utf8(output.stdout).unwrap();
            let calls = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            listed.extend(calls.map(|call| call["call"].as_str().unwrap().to_owned()));
            let note = String::from_utf8(output.stderr).unwrap();
            let Some((_, cursor)) = note.split_once("--after ") else { break };
            after = format!(" --after {}", cursor.trim());
        }
        assert_eq!(listed, expected);
    }
}

/// A colour would be an escape sequence.
#[tokio::test(start_paused = true)]
async fn colours_are_shown_if_they_are_asked_for_and_never_with_no_color() {
    let folder = with_calls().await;
    let shown = |variables: &[(&str, &str)], line: &str| {
        let mut program = program(folder.path(), line);
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            program.env_remove(variable);
        }
        let output = start(program.envs(variables.iter().copied())).wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    let line = "verbale show ferry-1 --log jsonl:calls";
    assert!(shown(&[("CLICOLOR_FORCE", "1")], line));
    assert!(!shown(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], line));
    assert!(!shown(&[], line), "a pipe has no colours");
    assert!(!shown(&[("CLICOLOR_FORCE", "1")], &format!("{line} --json")));
}

#[test]
fn failures_have_their_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    for (line, status, said) in [
        ("verbale list", 2, "--log <LOG>"),
        ("verbale list --log calls", 2, "expected dynamodb://TABLE, embedded:DIR or jsonl:DIR"),
        ("verbale list --log jsonl:calls --day monday", 2, "write a day as 2025-04-16"),
        ("verbale list --log jsonl:calls --caller +49301", 2, "--salt <SALT>"),
        ("verbale list --log jsonl:calls", 3, "there is no directory calls; check --log"),
        ("verbale check --log jsonl:.", 2, "<CALL>"),
        ("verbale show CA1 --log jsonl:.", 3, "the log has no call CA1"),
        ("verbale show CA1 --log dynamodb://calls --endpoint http://127.0.0.1:9", 5, "DynamoDB cannot be reached"),
        ("verbale show CA1 --log embedded:.", 3, "there is no database in .; check --log"),
    ] {
        let output = run(folder.path(), line);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{line}: {error}");
        assert!(error.contains(said), "{line}: {error}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}

#[test]
fn each_shell_gets_its_completions() {
    for (shell, part) in
        [("bash", "complete -F _verbale"), ("zsh", "#compdef verbale"), ("fish", "complete -c verbale")]
    {
        let output = run(Path::new("."), &format!("verbale completions {shell}"));
        assert!(output.status.success() && shown(&output).contains(part), "{shell}");
    }
}
