//! Forks: a call that is tried again another way, without a copy, and both ways in the log.
//!
//! `cargo run --example forks` needs no network: the log is a DynamoDB in this process.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use verbale::clock::{Clock, SystemClock};
use verbale::conversation::Conversation;
use verbale::dynamodb::{DynamoLog, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, WriterSettings};
use verbale::{MessageId, MessageWrapper, MessagesManager, PlainMessage};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let client = EmbeddedDynamo::in_memory()?.client(); // on AWS: dynamodb::log_client
    create_table(&client, &Table::default()).await?; // on AWS: infra/
    let log = Arc::new(DynamoLog::new(client));
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task.run());
    let logged = |conversation: &Conversation| -> Outcome<()> {
        let header = CallHeader::new(conversation.id().clone(), SystemClock.now_ms())?;
        conversation.log(writer.open(header)?);
        Ok(())
    };

    let call = Conversation::new(CallId::new("CA1")?);
    logged(&call)?;
    say(&call, "Good morning, I have a booking for Friday.", "Good morning! Shall I move it?")?;
    call.change(|manager| -> Outcome<()> {
        let summarizing = manager.summarizing().ok_or("there is nothing to summarise")?;
        manager.add_summary("The caller has a booking for Friday.", &summarizing)?;
        Ok(())
    })??;
    let wish = say(&call, "Yes, to Saturday.", "Saturday is full. Sunday at noon?")?;
    say(&call, "Then leave it as it is.", "It stays on Friday.")?;

    println!("What if the caller had asked for something else? An edit of an earlier turn is a fork:");
    let sunday = call.fork_edited(&wish, "Yes, to Sunday.", CallId::new("CA1-sunday")?)?;
    logged(&sunday)?;
    sunday.add_assistant("Sunday at noon it is.")?;

    println!("And if the assistant had offered Monday? A fork goes on behind a message:");
    let monday = call.fork(&wish, CallId::new("CA1-monday")?)?;
    logged(&monday)?;
    monday.add_assistant("Saturday is full. Monday at nine?")?;
    call.add_user("Thank you, goodbye.")?; // no fork sees this

    for conversation in [&call, &sunday, &monday] {
        println!("\n{}, {}", conversation.id(), shared_with(&call, conversation));
        conversation.read(|manager| println!("{manager}"));
    }

    assert!(writer.flush(Duration::from_secs(5)).await.is_empty());
    println!("\ncall        records  restored equal  left");
    for conversation in [&call, &sunday, &monday] {
        let records = log.read_call(conversation.id()).await?.records;
        let count = records.len();
        let restored = MessagesManager::<PlainMessage>::restore(records)?;
        let is_equal = conversation.read(|manager| *manager == restored);
        let lineage = restored.lineage();
        let left = lineage.first().map_or("nobody", |forked_from| forked_from.conversation.as_str());
        println!("{:<10} {count:>8}  {:<14}  {left}", conversation.id().as_str(), if is_equal { "yes" } else { "no" });
    }
    Ok(())
}

/// A turn; gives the id of what the caller said.
fn say(call: &Conversation, caller: &str, assistant: &str) -> Outcome<MessageId> {
    let id = call.add_user(caller)?;
    call.add_assistant(assistant)?;
    Ok(id)
}

/// How many texts of a conversation are, in memory, those of another one.
fn shared_with(source: &Conversation, conversation: &Conversation) -> String {
    let texts = |conversation: &Conversation| -> Vec<*const u8> {
        conversation.read(|manager| {
            let texts = manager.meta_messages().iter().flat_map(|message| message.contents().texts());
            texts.map(|text| text.as_ptr()).collect()
        })
    };
    let (ours, theirs) = (texts(source), texts(conversation));
    format!(
        "{} of its {} texts shared with {}",
        theirs.iter().filter(|text| ours.contains(text)).count(),
        theirs.len(),
        source.id()
    )
}
