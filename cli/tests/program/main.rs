//! The program, run as a user runs it. The commands in `docs/program.md` print what the page shows.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod calls;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use tempfile::TempDir;
use verbale::dynamodb::{DynamoLog, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::JsonLines;

/// A directory with the calls as JSON Lines in `calls`.
async fn with_calls() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    calls::play(Arc::new(JsonLines::new(folder.path().join("calls")))).await;
    folder
}

/// Runs a line of a shell, without the shell. Its first word is `verbale`.
fn run(folder: &Path, line: &str) -> Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[0], "verbale", "{line}");
    Command::new(env!("CARGO_BIN_EXE_verbale"))
        .args(&words[1..])
        .current_dir(folder)
        .env_remove("VERBALE_LOG")
        .env("COLUMNS", "100")
        .output()
        .unwrap()
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

#[tokio::test(start_paused = true)]
async fn logs_of_each_kind_show_the_same() {
    let folder = with_calls().await;
    let client = EmbeddedDynamo::open(folder.path().join("db")).unwrap().client();
    create_table(&client, &Table::default()).await.unwrap();
    calls::play(Arc::new(DynamoLog::new(client))).await;
    for command in ["show ferry-1", "check ferry-2", "list --day 2025-10-20", "list --day 2025-10-20 --json"] {
        let of = |log: &str| shown(&run(folder.path(), &format!("verbale {command} --log {log}")));
        assert_eq!(of("embedded:db"), of("jsonl:calls"), "{command}");
    }
}

#[tokio::test(start_paused = true)]
async fn json_has_one_object_a_line() {
    let folder = with_calls().await;
    for (command, lines) in [("list --day 2025-10-20", 3), ("show ferry-1", 12), ("check --day 2025-10-20", 1)] {
        let output = run(folder.path(), &format!("verbale {command} --log jsonl:calls --json"));
        let text = String::from_utf8(output.stdout).unwrap();
        let objects: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(objects.len(), lines, "{command}: {text}");
        assert!(objects.iter().all(serde_json::Value::is_object));
    }
}

/// What callers said is shown by `show` alone.
#[tokio::test(start_paused = true)]
async fn list_check_and_errors_hide_what_was_said() {
    let folder = with_calls().await;
    for command in
        ["list --day 2025-10-20", "list --day 2025-10-20 --json", "check --day 2025-10-20", "check ferry-2 --json"]
    {
        let shown = shown(&run(folder.path(), &format!("verbale {command} --log jsonl:calls")));
        for said in ["ten thirty", "10:30", "seat", "Good morning"] {
            assert!(!shown.contains(said), "{command}: {shown}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_follow_each_other() {
    let folder = with_calls().await;
    let mut listed = Vec::new();
    let mut after = String::new();
    for _ in 0..3 {
        let output =
            run(folder.path(), &format!("verbale list --day 2025-10-20 --limit 1 --json --log jsonl:calls{after}"));
        let text = String::from_utf8(output.stdout).unwrap();
        let call: serde_json::Value = serde_json::from_str(&text).unwrap();
        listed.push(call["call"].as_str().unwrap().to_owned());
        let note = String::from_utf8(output.stderr).unwrap();
        after =
            note.split_once("--after ").map_or_else(String::new, |(_, cursor)| format!(" --after {}", cursor.trim()));
    }
    assert_eq!(listed, ["ferry-3", "ferry-2", "ferry-1"]);
    assert_eq!(after, "", "nothing follows the last page");
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
        // A new directory has a database without a table.
        ("verbale show CA1 --log embedded:.", 3, "there is no such table"),
    ] {
        let output = run(folder.path(), line);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{line}: {error}");
        assert!(error.contains(said), "{line}: {error}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}
