//! Prompts as values: a conversation that is asked, continued, given a tool and another model, over a Bedrock in this
//! process.
//!
//! `cargo run --example prompts` needs no network. On AWS, only `model` is another one.

use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
use verbale::conversation::{Conversation, Models, Prompt};
use verbale::message::{Outcome, ResultContent};
use verbale::model::{Tool, ToolContext, ToolError};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Content, Message};

/// What the model gives to the tool. The comment on the field reaches the model.
#[derive(Deserialize, JsonSchema)]
struct Sailing {
    /// The port of departure.
    from: String,
}

#[derive(Serialize)]
struct Departure {
    at: &'static str,
    seats: u32,
}

async fn next_ferry(sailing: Sailing, _: ToolContext) -> Result<Departure, ToolError> {
    match sailing.from.as_str() {
        "Pellam" => Ok(Departure { at: "10:30", seats: 14 }),
        other => {
            Err(ToolError::new(format!("no ferry leaves from {other}; the port is Pellam")).with_type("NoSuchPort"))
        }
    }
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "what the example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bedrock = FakeBedrock::new();
    let models = Models::default()
        .with("anthropic", "haiku", model(&bedrock, "eu.anthropic.claude-haiku-4-5-20251001-v1:0"))
        .with("anthropic", "sonnet", model(&bedrock, "eu.anthropic.claude-sonnet-5"))
        .with("amazon", "nova", model(&bedrock, "eu.amazon.nova-lite-v1:0"));

    println!("A fresh conversation. Each value stays as it is, whatever grows from it:");
    let clerk = Prompt::new(models).agent("You answer for Pellam Island Ferries.").assistant("Good morning!");
    let about_dogs = clerk.request("May my dog come along?");
    let _about_cats = clerk.request("May my cat come along?"); // never applied: nobody hears of it
    bedrock.reply(ScriptedReply::text("Yes, on a lead."));
    println!("  answer: {}", &*about_dogs.prompt().await?);
    let conversation = clerk.conversation();

    println!("\nA continuation with a tool, message by message:");
    let ferry = Tool::new("next_ferry", "Finds the next ferry with free seats.", next_ferry)?;
    let with_tool = conversation.continuation().tool(ferry.with_timeout(Duration::from_secs(2)));
    let both =
        ScriptedReply::text("One moment.").tool_call("call_1", "next_ferry", serde_json::json!({"from": "Pellam"}));
    bedrock.reply(both.tool_call("call_2", "next_ferry", serde_json::json!({"from": "Oslo"})));
    bedrock.reply(ScriptedReply::text("At 10:30, with 14 seats left. From Oslo there is none."));
    let mut run = with_tool.request("When is the next ferry, here and from Oslo?").apply()?.run();
    while let Some(message) = run.next().await {
        println!("  {}", shown(&message?));
    }

    println!("\nAnother model goes on where the first one stopped:");
    bedrock.reply(ScriptedReply::text("It is booked."));
    let answer = conversation.continuation().provider("amazon").request("Book two seats, please.").prompt().await?;
    let config = conversation.config();
    let (provider, model) = config.model().unwrap_or(("?", "?"));
    println!("  {model} of {provider}: {}", &*answer);

    println!("\nWhat contradicts itself is refused, and nothing of it is applied:");
    let before = count(conversation);
    for wrong in [
        conversation.continuation().request("Hello?").model("haiku").model("sonnet"),
        conversation.continuation().request("Hello?").provider("amazon").model("haiku"),
        conversation.continuation().request("Hello?").set("temperature", 2),
        conversation.continuation().request("Hello?").context(" "),
    ] {
        match wrong.apply() {
            Ok(_) => println!("  applied"),
            Err(error) => println!("  {error}"),
        }
    }
    println!("  messages before and after: {before} and {}", count(conversation));

    println!("\nThe conversation, as whoever debugs it sees it:");
    conversation.read(|manager| println!("{manager}"));
    let requests = bedrock.requests();
    let last = requests.last().map_or("nobody", |request| request.model_id());
    println!("\nrequests {}, refused {}, the last one to {last}", requests.len(), bedrock.counters().refused);
    Ok(())
}

fn model(bedrock: &FakeBedrock, id: &str) -> BedrockModel {
    BedrockModel::for_turns(Client::from_conf(turn_client(bedrock.sdk_config()).build()), BedrockSettings::new(id))
}

fn count(conversation: &Conversation) -> usize {
    conversation.read(|manager| manager.meta_messages().len())
}

/// A message on a line.
fn shown(message: &Message) -> String {
    let contents = message.contents().iter().map(|content| match content {
        Content::Text(text) => format!("{:?}", text.as_str()),
        Content::ToolCall(call) => format!("calls {} as {}", call.name(), call.id()),
        Content::ToolResult(result) => match result.outcome() {
            Outcome::Success(given) => {
                format!("{} gives {}", result.tool_call_id(), given.iter().map(told).collect::<String>())
            }
            Outcome::Failure(error) => {
                let kind = error.error_type().unwrap_or("an error");
                format!("{} fails with {kind}: {}", result.tool_call_id(), error.message())
            }
        },
        other => format!("{other:?}"),
    });
    format!("{}: {}", message.role(), contents.collect::<Vec<_>>().join(", "))
}

/// Tools give text or JSON.
fn told(given: &ResultContent) -> String {
    match given {
        ResultContent::Text(text) => text.as_str().to_owned(),
        ResultContent::Json(value) => serde_json::to_string(value).unwrap_or_default(),
        other => format!("{other:?}"),
    }
}
