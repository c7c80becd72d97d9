//! Many conversations at once: concurrent callers, a limit on messages in memory, and queries that memory and log answer
//! alike.
//!
//! `cargo run --example conversations` needs no network. The log is a DynamoDB in this process.

mod shared;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use verbale::clock::{Clock, SystemClock};
use verbale::conversation::{Conversations, Found, HistoryQuery, LogScope, query_log};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, Day, LogWriter, WriterSettings};

const ABOUT: &str = "Lets 12 callers talk at once, and compares the results of queries on memory and on the log";
const CALLERS: usize = 12;
const TURNS: usize = 60;
/// The longest wait for the log.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of messages per conversation that stay in memory.
const LIMIT: usize = 20;
const ISLANDS: [&str; 5] = ["Pellam", "Straße von Ort", "Ærø", "Ithaki", "Şile"];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    shared::run(ABOUT, || query_conversations().map_err(|error| -> Box<dyn Error> { error }))
}

#[tokio::main]
async fn query_conversations() -> Outcome<()> {
    let mut out = io::stdout();
    let client = EmbeddedDynamo::in_memory()?.client(); // on AWS: dynamodb::log_client
    create_table(&client, "verbale").await?; // on AWS: infra/
    let log: Arc<dyn CallLog> = Arc::new(DynamoLog::new(client));
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let conversations = Arc::new(Conversations::default().with_history_limit(LIMIT).with_log(log.clone()));
    let started_ms = SystemClock.now_ms();

    // Each caller has a task. No task waits for another caller's conversation.
    let call = |caller: usize| talk(conversations.clone(), writer.clone(), caller, started_ms);
    let calls: Vec<_> = (0..CALLERS).map(|caller| tokio::spawn(call(caller))).collect();
    for call in calls {
        call.await??;
    }
    let unstored = writer.flush(FLUSH_TIMEOUT).await;
    writeln!(out, "messages missing in the log: {}\n", unstored.len())?;

    writeln!(out, "conversation   added  in memory  roles")?;
    for conversation in conversations.list() {
        let known = conversation.metadata();
        let in_memory = conversation.read(|manager| manager.meta_messages().len());
        let roles: Vec<String> = known.roles.iter().map(ToString::to_string).collect();
        writeln!(out, "{:<12} {:>7} {in_memory:>10}  {}", known.conversation, known.messages, roles.join(", "))?;
    }

    let today = LogScope::of_days(None, [Day::of_ms(started_ms)]);
    writeln!(out, "\nquery                              memory  memory and log     log  equal")?;
    for (name, query) in [
        ("everything", HistoryQuery::default()),
        ("the latest 10", HistoryQuery::default().newest_first().with_limit(10)),
        ("\"STRAẞE\" in any case", HistoryQuery::default().with_text("STRAẞE")),
        ("the first 3 of caller-7", HistoryQuery::default().with_conversation(CallId::new("caller-7")?).with_limit(3)),
        ("\".*\" as plain text", HistoryQuery::default().with_text(".*")),
    ] {
        let memory = conversations.query(&query)?;
        let together = conversations.query_with_log(&query).await?;
        let logged = query_log(&log, &today, &query).await?;
        let equal = if together == logged { "yes" } else { "no" };
        let (memory, together, logged) = (memory.len(), together.found.len(), logged.found.len());
        writeln!(out, "{name:<34} {memory:>6} {together:>15} {logged:>7}  {equal}")?;
        if equal == "no" {
            return Err(format!("memory and log differ in the results of the query: {name}").into());
        }
    }

    writeln!(out, "\nthe latest 3 messages about Ærø, in all conversations")?;
    for found in conversations.query(&HistoryQuery::default().with_text("ÆRØ").newest_first().with_limit(3))? {
        writeln!(out, "  {}", line(&found))?;
    }
    writeln!(out, "\nLook at the second table: memory keeps {LIMIT} messages per call, and the log returns the rest.")?;
    Ok(())
}

/// Plays the conversation of one caller and submits each turn to the log.
async fn talk(conversations: Arc<Conversations>, writer: LogWriter, caller: usize, started_ms: i64) -> Outcome<()> {
    let conversation = conversations.get_or_create(&CallId::new(format!("caller-{caller}"))?);
    let call = Arc::new(writer.open(CallHeader::new(conversation.id().clone(), started_ms)?)?);
    conversation.log(call.clone());
    for (turn, island) in (0..TURNS).zip(ISLANDS.iter().cycle().skip(caller)) {
        conversation.add_user(format!("When is ferry {turn} to {island}?"))?;
        tokio::task::yield_now().await; // a model would generate its reply here
        conversation.add_assistant(format!("To {island} at {}:15.", turn % 24))?;
    }
    call.flush(FLUSH_TIMEOUT).await;
    // This change shows the conversation what the log has stored. Messages over the limit then leave memory.
    conversation.add_user("Thank you, goodbye.")?;
    Ok(())
}

fn line(found: &Found) -> String {
    let texts: Vec<&str> = found.message.contents().texts().map(|text| text.as_str()).collect();
    format!("{} {}: {}", found.conversation, found.message.role(), texts.join(" "))
}
