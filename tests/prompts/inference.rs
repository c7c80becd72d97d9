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
    let bedrock = FakeBedrock::new();
    let inference = Inference::default().with_temperature(0.25).with_max_tokens(60).with_stop_sequences(["STOP"]);
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

#[tokio::test(start_paused = true)]
async fn throttling_before_the_first_token_is_retried_and_both_requests_are_recorded() {
    let bedrock = FakeBedrock::new();
    bedrock.reply(ScriptedReply::throttled());
    bedrock.reply(ScriptedReply::text("Yes."));
    let llm = prompt(&bedrock).request("Are you there?");
    assert_eq!(llm.prompt().await.unwrap(), "Yes.");
    assert_eq!(bedrock.counters().requests, 2);

    let conversation = llm.conversation();
    assert_eq!(shown(conversation), [r#"user "Are you there?""#, r#"assistant "Yes.""#]);
    let turn = conversation.read(|manager| manager.meta_messages()[1].message().metadata().turn().cloned()).unwrap();
    let failures: Vec<_> = turn.requests.iter().map(|request| request.failure.as_deref()).collect();
    assert_eq!((turn.end.as_str(), failures), ("complete", vec![Some("throttled"), None]));
    assert!(turn.requests[0].first_token_ms.is_none() && turn.requests[1].first_token_ms.is_some());
}
