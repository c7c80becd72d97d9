//! Typed answers: the instructions for the model, one repair, and errors that do not quote the answer.

use schemars::JsonSchema;
use serde::Deserialize;
use verbale::conversation::ConversationErrorKind;
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::{prompt, shown};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Outcome {
    /// The reason of the call.
    intent: String,
    refund_cents: Option<u32>,
}

const SECRET: &str = "4711-4711";

#[tokio::test(start_paused = true)]
async fn answer_is_read_with_and_without_code_fence() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text(r#"{"intent": "refund", "refund_cents": 1250}"#));
    bedrock.reply(ScriptedReply::text("```json\n{\"intent\": \"chat\"}\n```"));
    let llm = prompt(&bedrock).request("What did the caller want?");
    let outcome: Outcome = llm.prompt_for().await.unwrap();
    assert_eq!(outcome, Outcome { intent: "refund".into(), refund_cents: Some(1_250) });
    let asked = bedrock.requests()[0].last_text().unwrap().to_owned();
    insta::assert_snapshot!(asked, @r#"
    Answer with one JSON value that matches the JSON Schema below.
    Begin your answer with the first character of the JSON value and end it with the last one.
    Use null for a value that you do not know, if the schema allows null.

    {"properties":{"intent":{"description":"The reason of the call.","type":"string"},"refund_cents":{"format":"uint32","minimum":0,"type":["integer","null"]}},"required":["intent"],"type":"object"}
    "#);
    let fenced: Outcome = llm.prompt_for().await.unwrap();
    assert_eq!(fenced.intent, "chat");
}

#[tokio::test(start_paused = true)]
async fn answer_that_does_not_fit_is_repaired_once() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("The caller wanted a refund."));
    bedrock.reply(ScriptedReply::text(r#"{"intent": "refund"}"#));
    let llm = prompt(&bedrock).request("What did the caller want?");
    let outcome: Outcome = llm.prompt_for().await.unwrap();
    assert_eq!(outcome.intent, "refund");
    // The question, the schema, the answer, what is wrong with it, and the next answer.
    assert_eq!(shown(llm.conversation()).len(), 5);
    let repair = bedrock.requests()[1].last_text().unwrap().to_owned();
    insta::assert_snapshot!(repair, @"
    Your last answer does not match the JSON Schema above.
    Answer again with one JSON value that matches it.
    Begin your answer with the first character of the JSON value and end it with the last one.

    The reason: expected value at line 1 column 1
    ");

    for _ in 0..2 {
        bedrock.reply(ScriptedReply::text(format!(r#"{{"intent": "refund", "refund_cents": "{SECRET}"}}"#)));
    }
    let error = prompt(&bedrock).request("And now?").prompt_for::<Outcome>().await.unwrap_err();
    assert_eq!(error.kind(), ConversationErrorKind::NoAnswer);
    let text = error.to_string();
    assert!(text.contains("at line 1, column ") && text.contains("valid JSON of another shape"), "{text}");
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error}");
    assert_eq!(bedrock.counters().requests, 4);
}
