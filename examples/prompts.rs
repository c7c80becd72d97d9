//! Prompts as values: a conversation is asked, continued, and given a tool and another model.
//!
//! `cargo run --example prompts` needs no network. Bedrock is a fake in this process. On AWS, only `model` changes.

mod shared;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
use verbale::conversation::{Conversation, Models, Prompt};
use verbale::message::ResultContent;
use verbale::model::{Tool, ToolContext, ToolError};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Content, Message};

const ABOUT: &str =
    "Asks a fake Bedrock in five ways: a prompt, a tool, another model, wrong prompts, and a debug print";

/// The arguments that the model passes to the tool. The comment on the field is part of the schema for the model.
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

fn main() -> ExitCode {
    shared::run(ABOUT, ask)
}

#[tokio::main(flavor = "current_thread")]
async fn ask() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout();
    let bedrock = FakeBedrock::default();
    let models = Models::default()
        .with("anthropic", "haiku", model(&bedrock, "eu.anthropic.claude-haiku-4-5-20251001-v1:0"))
        .with("anthropic", "sonnet", model(&bedrock, "eu.anthropic.claude-sonnet-5"))
        .with("amazon", "nova", model(&bedrock, "eu.amazon.nova-lite-v1:0"));

    writeln!(out, "A new conversation. Each prompt is a value that never changes:")?;
    let clerk = Prompt::new(models).agent("You answer for Pellam Island Ferries.").assistant("Good morning!");
    let about_dogs = clerk.request("May my dog come along?");
    let _about_cats = clerk.request("May my cat come along?"); // never applied, so never sent
    bedrock.reply(ScriptedReply::text("Yes, on a lead."));
    writeln!(out, "  answer: {}", &*about_dogs.prompt().await?)?;
    let conversation = clerk.conversation();

    writeln!(out, "\nA continuation with a tool, message by message:")?;
    let ferry = Tool::new("next_ferry", "Finds the next ferry with free seats.", next_ferry)?;
    let with_tool = conversation.continuation().tool(ferry.with_timeout(Duration::from_secs(2)));
    let both =
        ScriptedReply::text("One moment.").tool_call("call_1", "next_ferry", serde_json::json!({"from": "Pellam"}));
    bedrock.reply(both.tool_call("call_2", "next_ferry", serde_json::json!({"from": "Oslo"})));
    bedrock.reply(ScriptedReply::text("At 10:30, with 14 seats left. From Oslo there is none."));
    let mut run = with_tool.request("When is the next ferry, here and from Oslo?").apply()?.run();
    while let Some(message) = run.next().await {
        writeln!(out, "  {}", shown(&message?))?;
    }

    writeln!(out, "\nAnother model continues the conversation:")?;
    bedrock.reply(ScriptedReply::text("It is booked."));
    let answer = conversation.continuation().provider("amazon").request("Book two seats, please.").prompt().await?;
    let config = conversation.config();
    let (provider, model) = config.model().unwrap_or(("?", "?"));
    writeln!(out, "  {model} of {provider}: {}", &*answer)?;

    writeln!(out, "\nContradictory prompts are refused and change nothing:")?;
    let before = count(conversation);
    for prompt in [
        conversation.continuation().request("Hello?").model("haiku").model("sonnet"),
        conversation.continuation().request("Hello?").provider("amazon").model("haiku"),
        conversation.continuation().request("Hello?").set("temperature", 2),
        conversation.continuation().request("Hello?").context(" "),
    ] {
        match prompt.apply() {
            Ok(_) => writeln!(out, "  applied")?,
            Err(error) => writeln!(out, "  {error}")?,
        }
    }
    writeln!(out, "  messages before and after: {before} and {}", count(conversation))?;

    writeln!(out, "\nThe conversation as a developer sees it:")?;
    conversation.read(|manager| writeln!(out, "{manager}"))?;
    let requests = bedrock.requests();
    let last = requests.last().map_or("none", |request| request.input().model_id().unwrap_or_default());
    writeln!(out, "\nrequests: {}, refused: {}, last model: {last}", requests.len(), bedrock.counters().refused)?;
    writeln!(out, "\nLook at `ask` in this example: every prompt is built with methods that return a new value.")?;
    Ok(())
}

fn model(bedrock: &FakeBedrock, id: &str) -> BedrockModel {
    BedrockModel::for_turns(Client::from_conf(turn_client(bedrock.sdk_config()).build()), BedrockSettings::new(id))
}

fn count(conversation: &Conversation) -> usize {
    conversation.read(|manager| manager.meta_messages().len())
}

/// Returns a message as one line.
fn shown(message: &Message) -> String {
    let contents = message.contents().iter().map(|content| match content {
        Content::Text(text) => format!("{:?}", text.as_str()),
        Content::ToolCall(call) => format!("calls {} with id {}", call.name(), call.id()),
        Content::ToolResult(result) => match result.outcome() {
            Ok(contents) => {
                format!("{} returns {}", result.tool_call_id(), contents.iter().map(result_text).collect::<String>())
            }
            Err(error) => {
                let kind = error.error_type().unwrap_or("an error");
                format!("{} fails with {kind}: {}", result.tool_call_id(), error.message())
            }
        },
        other => format!("{other:?}"),
    });
    format!("{}: {}", message.role(), contents.collect::<Vec<_>>().join(", "))
}

/// Returns the text or the JSON of a result.
fn result_text(content: &ResultContent) -> String {
    match content {
        ResultContent::Text(text) => text.as_str().to_owned(),
        ResultContent::Json(value) => serde_json::to_string(value).unwrap_or_default(),
        other => format!("{other:?}"),
    }
}
