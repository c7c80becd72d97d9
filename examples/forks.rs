//! Forks: a call continues in other ways, without a copy, and every way is in the log.
//!
//! `cargo run --example forks` needs no network. The log is a DynamoDB in this process.

mod shared;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use verbale::clock::{Clock, SystemClock};
use verbale::conversation::Conversation;
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, WriterSettings};
use verbale::{MessageId, MessagesManager, PlainMessage};

const ABOUT: &str = "Forks a call twice, prints the three conversations, and restores each of them from the log";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    shared::run(ABOUT, fork_a_call)
}

#[tokio::main]
async fn fork_a_call() -> Outcome<()> {
    let mut out = io::stdout();
    let client = EmbeddedDynamo::in_memory()?.client(); // on AWS: dynamodb::log_client
    create_table(&client, "verbale").await?; // on AWS: infra/
    let log = Arc::new(DynamoLog::new(client));
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let start_log = |conversation: &Conversation| -> Outcome<()> {
        let header = CallHeader::new(conversation.id().clone(), SystemClock.now_ms())?;
        conversation.log(writer.open(header)?);
        Ok(())
    };

    let call = Conversation::new(CallId::new("CA1")?);
    start_log(&call)?;
    add_turn(&call, "Good morning, I have a booking for Friday.", "Good morning! Shall I move it?")?;
    call.change(|manager| -> Outcome<()> {
        let summarizing = manager.summarizing().ok_or("there is nothing to summarise")?;
        manager.add_summary("The caller has a booking for Friday.", &summarizing)?;
        Ok(())
    })??;
    let wish = add_turn(&call, "Yes, to Saturday.", "Saturday is full. Sunday at noon?")?;
    add_turn(&call, "Then leave it as it is.", "It stays on Friday.")?;

    writeln!(out, "What if the caller had asked for Sunday? Editing an earlier turn creates a fork.")?;
    let sunday = call.fork_edited(&wish, "Yes, to Sunday.", CallId::new("CA1-sunday")?)?;
    start_log(&sunday)?;
    sunday.add_assistant("Sunday at noon it is.")?;

    writeln!(out, "What if the assistant had offered Monday? A fork continues after a message.")?;
    let monday = call.fork(&wish, CallId::new("CA1-monday")?)?;
    start_log(&monday)?;
    monday.add_assistant("Saturday is full. Monday at nine?")?;
    call.add_user("Thank you, goodbye.")?; // not visible to the forks

    for conversation in [&call, &sunday, &monday] {
        writeln!(out, "\n{}: {}", conversation.id(), shared_with(&call, conversation))?;
        conversation.read(|manager| writeln!(out, "{manager}"))?;
    }

    if !writer.flush(Duration::from_secs(5)).await.is_empty() {
        return Err("the log did not store all messages in time".into());
    }
    writeln!(out, "\ncall        records  restored equal  forked from")?;
    for conversation in [&call, &sunday, &monday] {
        let records = log.read_call(conversation.id()).await?.records;
        let count = records.len();
        let restored = MessagesManager::<PlainMessage>::restore(records)?;
        let is_equal = conversation.read(|manager| *manager == restored);
        let lineage = restored.lineage();
        let source = lineage.first().map_or("-", |forked_from| forked_from.conversation.as_str());
        let equal = if is_equal { "yes" } else { "no" };
        writeln!(out, "{:<10} {count:>8}  {equal:<14}  {source}", conversation.id().as_str())?;
    }
    writeln!(out, "\nLook at the shared texts: a fork keeps the texts of its source in memory only once.")?;
    Ok(())
}

/// Adds a turn and returns the id of the caller's message.
fn add_turn(call: &Conversation, caller: &str, assistant: &str) -> Outcome<MessageId> {
    let id = call.add_user(caller)?;
    call.add_assistant(assistant)?;
    Ok(id)
}

/// Returns how many texts a conversation shares in memory with its source.
fn shared_with(source: &Conversation, conversation: &Conversation) -> String {
    let texts = |conversation: &Conversation| -> Vec<*const u8> {
        conversation.read(|manager| {
            let texts = manager.meta_messages().iter().flat_map(|message| message.contents().texts());
            texts.map(|text| text.as_ptr()).collect()
        })
    };
    let (ours, theirs) = (texts(source), texts(conversation));
    let shared = theirs.iter().filter(|text| ours.contains(text)).count();
    format!("{shared} of {} texts shared with {}", theirs.len(), source.id())
}
