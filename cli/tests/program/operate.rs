//! The work of an operator with a log: tables, spools, dead letters, imports, masks.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use verbale::dynamodb::table_definition;
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{
    CallChange, CallEnd, CallHeader, CallId, CallLog, CallPage, CallQuery, JsonLines, LogError, LogErrorKind,
    LogFuture, LogWriter, LoggedCall, Put, Spool, SpoolSettings, WriterLease, WriterSettings,
};
use verbale::{MessagesManager, PlainMessage, Record};

use crate::calls::{self, START_MS};
use crate::{embedded, run, shown, with_calls};

/// A log in files that refuses one message for good.
struct Refusing(JsonLines, u32);

impl CallLog for Refusing {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        self.0.open_call(header)
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        if record.position().seq() == self.1 {
            return Box::pin(async { Err(LogError::backend("storing it", LogErrorKind::Refused, "too large")) });
        }
        self.0.put_record(lease, record)
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        self.0.change_call(call_id, change)
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        self.0.read_call(call_id)
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        self.0.list_calls(query)
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        self.0.erase_call(call_id)
    }
}

/// Leaves a call of three messages in the spool `spool`, as far as the log does not store it.
async fn spooled(folder: &Path, log: Arc<dyn CallLog>) {
    let spool = Arc::new(Spool::open(folder.join("spool"), SpoolSettings::default()).unwrap());
    let (writer, task) = LogWriter::new(log, WriterSettings::default().with_spool(spool));
    let task = tokio::spawn(task);
    let call = writer.open(CallHeader::new(CallId::new("ferry-4").unwrap(), START_MS).unwrap()).unwrap();
    let mut manager = MessagesManager::<PlainMessage>::new();
    for words in ["Two seats, please.", "For today?", "For tomorrow."] {
        let is_caller = !words.starts_with("For today");
        if is_caller { manager.add_user(words).map(drop) } else { manager.add_assistant(words).map(drop) }.unwrap();
    }
    let call_end = CallEnd::of(&manager, START_MS + 60_000, "hangup").unwrap();
    call.finish(&mut manager, call_end, Duration::from_secs(5)).await.unwrap();
    writer.stop(Duration::from_millis(300)).await;
    drop((call, writer));
    task.await.unwrap();
}

/// Leaves a spool of a service whose log could not be reached.
pub async fn with_spool(folder: &Path) {
    fs::write(folder.join("unreachable"), "no directory").unwrap();
    fs::write(folder.join("damaged"), "no spool").unwrap();
    spooled(folder, Arc::new(JsonLines::new(folder.join("unreachable/calls")))).await;
}

#[tokio::test]
async fn spool_is_shown_and_shipped() {
    let folder = tempfile::tempdir().unwrap();
    with_spool(folder.path()).await;
    fs::create_dir(folder.path().join("calls")).unwrap();
    let run = |command: &str| shown(&run(folder.path(), &format!("verbale {command}")));
    let waits = "ferry-4: 5 parts to store, 0 dead letters\n(exit status 6)\n";
    assert_eq!(run("spool show spool"), waits);
    assert_eq!(run("spool show spool"), waits, "showing changes nothing");
    assert_eq!(run("spool ship spool --log jsonl:calls"), "3 records stored\n");
    assert_eq!(run("spool show spool"), "nothing waits in the spool\n");
    assert!(run("show ferry-4 --log jsonl:calls").contains("caller     For tomorrow."));
    assert_eq!(run("check ferry-4 --log jsonl:calls"), "1 call checked: nothing is wrong\n");
    assert!(run("spool show nowhere").ends_with("there is no spool nowhere; check the path\n(exit status 3)\n"));
    fs::write(folder.path().join("spool"), "damaged").unwrap();
    let damaged = run("spool show spool");
    assert!(damaged.starts_with("error: ") && damaged.ends_with("(exit status 1)\n"), "{damaged}");
}

#[tokio::test]
async fn dead_letters_are_listed_retried_and_dropped() {
    for act in ["retry", "drop"] {
        let folder = tempfile::tempdir().unwrap();
        let log = JsonLines::new(folder.path().join("calls"));
        spooled(folder.path(), Arc::new(Refusing(log, 1))).await;
        let run = |command: &str| shown(&run(folder.path(), &format!("verbale {command}")));
        let list = run("dead-letters list spool");
        assert!(list.starts_with("call ferry-4, message 1, revision ") && list.contains("too large"), "{list}");
        assert!(!list.contains("For today"), "{list}");
        let json = run("dead-letters list spool ferry-4 --json");
        assert!(json.starts_with(r#"{"call":"ferry-4","place":"message 1","revision":"#), "{json}");
        assert!(run("check ferry-4 --log jsonl:calls").contains("message 1 is left out"));
        if act == "retry" {
            let retried = run("dead-letters retry spool --log jsonl:calls");
            assert!(retried.starts_with("stored call ferry-4, message 1, revision "), "{retried}");
            assert_eq!(run("check ferry-4 --log jsonl:calls"), "1 call checked: nothing is wrong\n");
        } else {
            let asked = run("dead-letters drop spool");
            assert!(asked.contains("drops 1 dead letter, for good") && asked.ends_with("(exit status 2)\n"), "{asked}");
            assert_eq!(run("dead-letters drop spool --yes"), "dropped 1 dead letter\n");
        }
        assert_eq!(run("dead-letters list spool"), "", "{act}");
        assert_eq!(run("spool show spool"), "nothing waits in the spool\n", "{act}");
    }
}

#[tokio::test(start_paused = true)]
async fn exported_calls_can_be_imported() {
    let folder = with_calls().await;
    let run = |command: &str| shown(&run(folder.path(), &format!("verbale {command}")));
    for format in ["records", "json-lines", "versioned", "converse", "openai", "chat"] {
        run(&format!("export ferry-1 --format {format} -o file --log jsonl:calls"));
        let line = format!("import file --call new-{format} --format {format} --log jsonl:others");
        let imported = run(&line);
        assert!(imported.starts_with(&format!("imported call new-{format} with ")), "{imported}");
        let check = run(&format!("check new-{format} --log jsonl:others"));
        // Only records say that a tool may act.
        let untold = check.matches(": the caller may not know the outcome of the tool book").count();
        assert_eq!(untold, usize::from(format == "records"), "{check}");
        assert_eq!(check.ends_with("1 call checked: nothing is wrong\n"), untold == 0, "{format}: {check}");
        let words = run(&format!("show new-{format} --log jsonl:others"));
        assert!(words.contains("There are four seats left. Shall I book one?"), "{format}: {words}");
        let again = run(&line);
        assert!(again.contains("choose another id") && again.ends_with("(exit status 2)\n"), "{again}");
    }
    let words = |log: &str, id: &str| {
        let shown = run(&format!("show {id} --log {log}"));
        shown.split_once("\n\n").unwrap().1.to_owned()
    };
    assert_eq!(words("jsonl:others", "new-records"), words("jsonl:calls", "ferry-1"));
    assert_eq!(run("list --day 2025-10-20 --log jsonl:others").matches("imported").count(), 3);
    let wrong = run("import file --call other --log jsonl:others");
    assert!(wrong.contains("line 1 is no record") && wrong.ends_with("(exit status 2)\n"), "{wrong}");
    assert!(!wrong.contains("ferry"), "{wrong}");
    assert!(run("import nowhere --call other --log jsonl:others").ends_with("(exit status 3)\n"));
}

#[tokio::test(start_paused = true)]
async fn masked_output_hides_numbers_and_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let words = "My card is 4111 1111 1111 1111, my address ann.lee@example.com.";
    let log = Arc::new(JsonLines::new(folder.path().join("calls")));
    calls::play_turns(log, "private", 1, words).await;
    for command in ["show", "show --json", "export", "export --format chat", "report"] {
        let of = |mask: &str| shown(&run(folder.path(), &format!("verbale {command} private{mask} --log jsonl:calls")));
        let (plain, masked) = (of(""), of(" --redact"));
        for private in ["4111 1111", "ann.lee"] {
            assert!(plain.contains(private) && !masked.contains(private), "{command}: {masked}");
        }
        assert!(masked.contains("My card is "), "{command}: {masked}");
    }
    assert!(run(folder.path(), "verbale show private --log jsonl:calls").status.success(), "the log is as before");
}

#[tokio::test]
async fn table_is_compared_with_the_infrastructure() {
    let folder = tempfile::tempdir().unwrap();
    let run = |command: &str| shown(&run(folder.path(), &format!("verbale table {command}")));
    assert!(run("check --log embedded:db").ends_with("(exit status 3)\n"));
    assert!(run("check --log jsonl:.").contains("a log of JSON Lines has no table\n(exit status 2)"));
    for _ in 0..2 {
        assert_eq!(run("create --log embedded:db"), "table verbale is ready\n");
    }
    let check = run("check --log embedded:db");
    assert!(check.contains("protection from deletion: off, not on\n"), "{check}");
    assert!(check.contains("recovery to a point in time: unknown to this server, not on\n"), "{check}");
    assert!(!check.contains("keys") && !check.contains("index gsi") && !check.contains("time to live"), "{check}");
    assert!(check.ends_with("(exit status 6)\n"), "{check}");

    let other = EmbeddedDynamo::open(folder.path().join("other")).unwrap().client();
    let definition = table_definition("verbale").unwrap();
    let indexes = definition.get_global_secondary_indexes().clone().unwrap();
    let first = indexes.into_iter().filter(|index| index.index_name() == "gsi1").collect();
    let attributes = definition.get_attribute_definitions().clone().unwrap();
    let used = attributes.into_iter().filter(|attribute| !attribute.attribute_name().starts_with("gsi2")).collect();
    let one_index = definition.set_global_secondary_indexes(Some(first)).set_attribute_definitions(Some(used));
    one_index.send_with(&other).await.unwrap();
    let check = run("check --log embedded:other");
    assert!(check.contains("index gsi2: missing, not gsi2pk (HASH) and gsi2sk (RANGE)\n"), "{check}");
    assert!(check.contains("time to live: off, not expires_at\n"), "{check}");
}

#[tokio::test(start_paused = true)]
async fn table_counts_what_its_calls_cost() {
    let folder = with_calls().await;
    let (_, client) = embedded(&folder).await;
    let run = |line: &str| shown(&run(folder.path(), &format!("verbale table cost --day {line}")));
    let costs: serde_json::Value = serde_json::from_str(&run("2025-10-20 --json --log embedded:db")).unwrap();
    let items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap().len();
    assert_eq!((&costs["calls"], &costs["items"]), (&json!(3), &json!(items)));
    // Each item has less than 1 KB, and a header is in the index of its day, too.
    assert_eq!(costs["writeUnits"], json!((items + 3) as f64));
    assert!(costs["readUnits"].as_f64().is_some_and(|units| units >= 3.0), "{costs}");
    assert_eq!(costs["writeDollars"].as_f64(), costs["writeUnits"].as_f64().map(|units| units / 1e6 * 0.625));
    assert!(run("2025-10-20 --limit 1 --log embedded:db").starts_with("1 call with "));
    assert!(run("2025-10-19 --log embedded:db").starts_with("no calls started on 2025-10-19"));
    assert!(run("2025-10-20 --log jsonl:calls").contains("a log of JSON Lines has no table\n(exit status 2)"));
}

/// The prices are those of the page.
#[test]
fn prices_are_those_of_the_infrastructure() {
    let prices: serde_json::Value = serde_json::from_str(include_str!("../../../infra/prices.json")).unwrap();
    let page = include_str!("../../../infra/README.md");
    for (row, price) in [
        ("| write unit", format!("| {} per million |", prices["dollarsPerMillionWriteUnits"])),
        ("| read unit", format!("| {} per million |", prices["dollarsPerMillionReadUnits"])),
    ] {
        let line = page.lines().find(|line| line.starts_with(row)).unwrap();
        assert!(line.ends_with(&price), "{line}");
    }
    assert!(page.contains(&format!("| {:.2} per GB and month,", prices["dollarsPerGbMonth"].as_f64().unwrap())));
}

#[tokio::test]
async fn demo_says_how_to_see_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let demo = shown(&run(folder.path(), "verbale demo --log embedded:db"));
    for start in ["To see the call in its log: ", "To see it as a page: "] {
        let command = demo.lines().find_map(|line| line.strip_prefix(start)).unwrap();
        assert!(run(folder.path(), command).status.success(), "{command}");
    }
    let refused = run(folder.path(), "verbale demo --log dynamodb://calls");
    assert_eq!(refused.status.code(), Some(2), "{}", shown(&refused));
    let unreachable = run(folder.path(), "verbale demo --log dynamodb://calls --endpoint http://127.0.0.1:9");
    assert_eq!(unreachable.status.code(), Some(5), "{}", shown(&unreachable));
}

/// What README.md shows of the demo is what it prints. The id of the call is another one each time.
#[test]
fn readme_shows_what_the_demo_prints() {
    let folder = tempfile::tempdir().unwrap();
    let demo = shown(&run(folder.path(), "verbale demo"));
    let printed: Vec<&str> = demo.lines().collect();
    let readme = include_str!("../../../README.md");
    let (block, _) = readme.split_once("```text\ncall builtin-").unwrap().1.split_once("```").unwrap();
    let shown: Vec<&str> = block.lines().skip(1).filter(|line| *line != "…").collect();
    assert!(shown.len() > 10 && shown.iter().all(|line| printed.contains(line)), "{demo}");
}
