//! Inference settings of a prompt in the request body, and retries before the first token.

use serde_json::{Value as Json, json};
use verbale::model::Inference;
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{MessageWrapper, Value};

use super::{prompt, shown};

fn inference_config(bedrock: &FakeBedrock) -> Json {
    let body: Json = serde_json::from_slice(bedrock.requests().last().unwrap().body()).unwrap();
    body["inferenceConfig"].clone()
}

#[tokio::test(start_paused = true)]
async fn inference_settings_of_a_prompt_reach_the_request_body() {
    let bedrock = FakeBedrock::default();
    let inference = Inference {
        temperature: Some(0.25),
        max_tokens: Some(60),
        stop_sequences: vec!["STOP".into()],
        ..Inference::default()
    };
    let llm = prompt(&bedrock).config(|config| config.with_inference(inference));
    llm.request("Hello?").prompt().await.unwrap();
    let expected = json!({"temperature": 0.25, "maxTokens": 60, "stopSequences": ["STOP"]});
    assert_eq!(inference_config(&bedrock), expected);

    // A later prompt replaces one setting, as data.
    let stops = Value::list(["END"]).unwrap();
    let later = llm.conversation().continuation().set("stop_sequences", stops).request("And now?");
    later.prompt().await.unwrap();
    let expected = json!({"temperature": 0.25, "maxTokens": 60, "stopSequences": ["END"]});
    assert_eq!(inference_config(&bedrock), expected);
}

/// Returns the end of the last turn and the failures of its requests, after a run with a failure before the first token.
async fn turn_after(failure: ScriptedReply) -> (Json, Vec<Json>) {
    let bedrock = FakeBedrock::default();
    bedrock.reply(failure);
    bedrock.reply(ScriptedReply::text("Yes."));
    let llm = prompt(&bedrock).request("Are you there?");
    assert_eq!(llm.prompt().await.unwrap(), "Yes.");
    assert_eq!((bedrock.counters().requests, bedrock.counters().refused), (2, 0));
    let conversation = llm.conversation();
    assert_eq!(shown(conversation), [r#"user "Are you there?""#, r#"assistant "Yes.""#]);
    let turn = conversation.read(|manager| manager.meta_messages()[1].message().metadata().turn().cloned()).unwrap();
    let turn = serde_json::to_value(turn).unwrap();
    let failures = turn["requests"].as_array().unwrap().iter().map(|request| request["failure"].clone()).collect();
    (turn["end"].clone(), failures)
}

#[tokio::test(start_paused = true)]
async fn throttled_request_is_retried_and_both_requests_are_recorded() {
    assert_eq!(
        turn_after(ScriptedReply::refused("ThrottlingException")).await,
        ("complete".into(), vec!["throttled".into(), Json::Null])
    );
}

#[tokio::test(start_paused = true)]
async fn stream_that_fails_before_the_first_token_is_retried_and_both_requests_are_recorded() {
    let failure = ScriptedReply::text("Yes.").exception_after(1, "ServiceUnavailableException");
    assert_eq!(turn_after(failure).await, ("complete".into(), vec!["unavailable".into(), Json::Null]));
}
