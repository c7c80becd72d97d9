//! Typed answers: what the model is asked, one repair, and errors without a word of the answer.

use schemars::JsonSchema;
use serde::Deserialize;
use verbale::conversation::AskError;
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::{prompt, shown};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Outcome {
    /// Why the caller called.
    intent: String,
    refund_cents: Option<u32>,
}

const SECRET: &str = "4711-4711";

#[tokio::test(start_paused = true)]
async fn answer_is_read_as_its_type() {
    let bedrock = FakeBedrock::new();
    bedrock.reply(ScriptedReply::text(r#"{"intent": "refund", "refund_cents": 1250}"#));
    bedrock.reply(ScriptedReply::text("```json\n{\"intent\": \"chat\"}\n```"));
    let llm = prompt(&bedrock).request("What did the caller want?");
    let outcome: Outcome = llm.prompt_for().await.unwrap();
    assert_eq!(outcome, Outcome { intent: "refund".into(), refund_cents: Some(1_250) });
    let asked = bedrock.requests()[0].last_text().unwrap().to_owned();
    insta::assert_snapshot!(asked, @r#"
    Answer with one JSON value that fits the JSON Schema below.
    Write the JSON value alone, without an explanation and without a code fence.
    Use null for what you do not know, if the schema takes null.

    {"properties":{"intent":{"description":"Why the caller called.","type":"string"},"refund_cents":{"format":"uint32","minimum":0,"type":["integer","null"]}},"required":["intent"],"type":"object"}
    "#);
    let fenced: Outcome = llm.prompt_for().await.unwrap();
    assert_eq!(fenced.intent, "chat");
}

#[tokio::test(start_paused = true)]
async fn misfit_is_repaired_once() {
    let bedrock = FakeBedrock::new();
    bedrock.reply(ScriptedReply::text("The caller wanted a refund."));
    bedrock.reply(ScriptedReply::text(r#"{"intent": "refund"}"#));
    let llm = prompt(&bedrock).request("What did the caller want?");
    let outcome: Outcome = llm.prompt_for().await.unwrap();
    assert_eq!(outcome.intent, "refund");
    let shown = shown(llm.conversation());
    assert_eq!(shown.len(), 4);
    assert!(shown[2].contains("Your last answer does not fit the JSON Schema."), "{}", shown[2]);

    for _ in 0..2 {
        bedrock.reply(ScriptedReply::text(format!(r#"{{"intent": "refund", "refund_cents": "{SECRET}"}}"#)));
    }
    let error = prompt(&bedrock).request("And now?").prompt_for::<Outcome>().await.unwrap_err();
    let AskError::Misfit(misfit) = error else { panic!("{error}") };
    assert!(misfit.is_json && misfit.line == 1 && !format!("{misfit} {misfit:?}").contains(SECRET), "{misfit}");
    assert_eq!(bedrock.counters().requests, 4);
}
