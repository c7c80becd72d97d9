//! Many conversations at once: tasks that talk at the same time, a limit that lets old messages leave memory, and
//! queries, which memory and log answer alike.
//!
//! `cargo run --example conversations` needs no network: the log is a DynamoDB in this process.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use verbale::clock::{Clock, SystemClock};
use verbale::conversation::{Conversations, Found, HistoryQuery, LogScope, query_log};
use verbale::dynamodb::{DynamoLog, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, Day, LogWriter, WriterSettings};

const CALLERS: usize = 12;
const TURNS: usize = 60;
/// How long the log is waited for.
const WITHIN: Duration = Duration::from_secs(5);
/// How many messages of a conversation stay in memory.
const LIMIT: usize = 20;
const ISLANDS: [&str; 5] = ["Pellam", "Straße von Ort", "Ærø", "Ithaki", "Şile"];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let client = EmbeddedDynamo::in_memory()?.client(); // on AWS: dynamodb::log_client
    create_table(&client, &Table::default()).await?; // on AWS: infra/
    let log: Arc<dyn CallLog> = Arc::new(DynamoLog::new(client));
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task.run());
    let conversations = Arc::new(Conversations::new().with_history_limit(LIMIT).with_log(log.clone()));
    let started_ms = SystemClock.now_ms();

    // Each caller has a task, and no task waits for another caller's conversation.
    let call = |caller: usize| talk(conversations.clone(), writer.clone(), caller, started_ms);
    let calls: Vec<_> = (0..CALLERS).map(|caller| tokio::spawn(call(caller))).collect();
    for call in calls {
        call.await??;
    }
    let unstored = writer.flush(WITHIN).await;
    println!("messages that the log does not have: {}\n", unstored.len());

    println!("conversation   added  in memory  roles");
    for conversation in conversations.list() {
        let known = conversation.metadata();
        let in_memory = conversation.read(|manager| manager.meta_messages().len());
        let roles: Vec<String> = known.roles.iter().map(ToString::to_string).collect();
        println!("{:<12} {:>7} {in_memory:>10}  {}", known.conversation, known.messages, roles.join(", "));
    }

    let today = LogScope::of_days([Day::of_ms(started_ms)]);
    println!("\nquery                              memory  memory and log     log  the same");
    for (name, query) in [
        ("everything", HistoryQuery::default()),
        ("the latest 10", HistoryQuery::default().newest_first().with_limit(10)),
        ("\"STRAẞE\", whatever its case", HistoryQuery::default().with_text("STRAẞE")),
        ("the first 3 of caller-7", HistoryQuery::default().with_conversation(CallId::new("caller-7")?).with_limit(3)),
        ("\".*\", which is no pattern", HistoryQuery::default().with_text(".*")),
    ] {
        let memory = conversations.query(&query)?;
        let together = conversations.query_with_log(&query).await?;
        let logged = query_log(&log, &today, &query).await?;
        let same = if together == logged { "yes" } else { "no" };
        let (memory, together, logged) = (memory.len(), together.found.len(), logged.found.len());
        println!("{name:<34} {memory:>6} {together:>15} {logged:>7}  {same}");
        if same == "no" {
            return Err(format!("memory and log have two answers to {name}").into());
        }
    }

    println!("\nthe latest 3 about Ærø, wherever they were said");
    for found in conversations.query(&HistoryQuery::default().with_text("ÆRØ").newest_first().with_limit(3))? {
        println!("  {}", line(&found));
    }
    Ok(())
}

/// One caller's conversation, logged turn by turn.
async fn talk(conversations: Arc<Conversations>, writer: LogWriter, caller: usize, started_ms: i64) -> Outcome<()> {
    let conversation = conversations.get_or_create(&CallId::new(format!("caller-{caller}"))?);
    let call = Arc::new(writer.open(CallHeader::new(conversation.id().clone(), started_ms)?)?);
    conversation.log(call.clone());
    for (turn, island) in (0..TURNS).zip(ISLANDS.iter().cycle().skip(caller)) {
        conversation.add_user(format!("When is ferry {turn} to {island}?"))?;
        tokio::task::yield_now().await; // here a model would think
        conversation.add_assistant(format!("To {island} at {}:15.", turn % 24))?;
    }
    call.flush(WITHIN).await;
    // With the next change the conversation hears what the log has, and what is over the limit leaves memory.
    conversation.add_user("Thank you, goodbye.")?;
    Ok(())
}

fn line(found: &Found) -> String {
    let texts: Vec<&str> = found.message.contents().texts().map(|text| text.as_str()).collect();
    format!("{} {}: {}", found.conversation, found.message.role(), texts.join(" "))
}
