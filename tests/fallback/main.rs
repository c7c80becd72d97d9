//! A live call whose models are two Bedrocks: the first one fails or is slow, and the second one answers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use serde_json::{Value as Json, json};
use tokio::time::{Instant, advance, sleep};
use verbale::MessageWrapper;
use verbale::bedrock::{BedrockModel, BedrockSettings};
use verbale::call::{CallBuilder, CallSession, ReplyEnd, ReplyEvent};
use verbale::conversation::{CallEvent, Observer};
use verbale::log::CallId;
use verbale::model::FallbackModel;
use verbale::testing::{FakeBedrock, ScriptedReply};

const CLAUDE: &str = "eu.anthropic.claude-sonnet-5";
const NOVA: &str = "eu.amazon.nova-lite-v1:0";

/// A call, its two Bedrocks, and its switches by events.
struct Scene {
    first: FakeBedrock,
    second: FakeBedrock,
    call: CallSession,
    switches: Switches,
}

#[derive(Clone, Default)]
struct Switches(Arc<Mutex<Vec<String>>>);

impl Observer for Switches {
    fn observe(&self, _: &CallId, event: &CallEvent) {
        if let CallEvent::ModelSwitched { from, to, reason, .. } = event {
            self.0.lock().unwrap().push(format!("{from} -> {to}: {reason}"));
        }
    }
}

/// Returns a model whose requests take one reply each.
fn model(bedrock: &FakeBedrock, id: &str) -> BedrockModel {
    BedrockModel::for_turns(Client::from_conf(bedrock.sdk_config().build()), BedrockSettings::new(id))
}

fn scene(change: impl FnOnce(FallbackModel) -> FallbackModel) -> Scene {
    let (first, second) =
        (FakeBedrock::default(), FakeBedrock::answering(|_| ScriptedReply::text("The second answers.")));
    let model = change(FallbackModel::new(model(&first, CLAUDE)).or_else(model(&second, NOVA)));
    let switches = Switches::default();
    let call = CallBuilder::new(model).observer(switches.clone()).open().unwrap();
    Scene { first, second, call, switches }
}

impl Scene {
    /// Takes a turn, and returns the text and the wait for it in milliseconds.
    async fn turn(&self) -> (String, u128) {
        self.call.caller_said("When does it arrive?").unwrap();
        let (begun, mut text) = (Instant::now(), String::new());
        let mut reply = self.call.reply().unwrap();
        while let Some(event) = reply.next().await {
            match event {
                ReplyEvent::Text(piece) => text.push_str(&piece),
                ReplyEvent::Ended(end) => {
                    assert!(matches!(end, ReplyEnd::Complete(_)), "{end:?}");
                    break;
                }
                _ => {}
            }
        }
        let wait = begun.elapsed().as_millis();
        // The usage follows the end of a reply.
        sleep(Duration::from_millis(100)).await;
        (text, wait)
    }

    /// Returns the requests of the last reply's turn record.
    fn requests(&self) -> Json {
        let record = self.call.conversation().read(|manager| {
            let last = manager.meta_messages().last().unwrap().message().metadata().turn().cloned();
            serde_json::to_value(last.unwrap()).unwrap()
        });
        record["requests"].clone()
    }

    fn switches(&self) -> Vec<String> {
        self.switches.0.lock().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn second_model_answers_in_the_same_request_and_the_switch_is_visible() {
    for (exception, word) in [
        ("ThrottlingException", "throttled"),
        ("ServiceUnavailableException", "unavailable"),
        ("AccessDeniedException", "denied"),
    ] {
        let scene = scene(|model| model);
        scene.first.reply(ScriptedReply::refused(exception));
        scene.second.reply(ScriptedReply::text("On Friday.").usage(20, 3));
        assert_eq!(scene.turn().await, ("On Friday.".to_owned(), 0));
        let switch = format!("{CLAUDE} -> {NOVA}: {word}");
        assert_eq!(scene.switches(), std::slice::from_ref(&switch));
        let requests = scene.requests();
        assert_eq!(requests.as_array().map(Vec::len), Some(1), "the engine sees one request");
        assert_eq!((&requests[0]["switches"], &requests[0]["failure"]), (&json!([switch]), &Json::Null));
        assert_eq!((&requests[0]["input"], &requests[0]["output"]), (&json!(20), &json!(3)));
        let metrics = scene.call.conversation().metrics();
        assert_eq!((metrics.model_switches, metrics.usage.output_tokens), (1, 3));
        assert!(metrics.to_string().contains("\nmodels        switched 1\n"), "{metrics}");
        // Both were asked the same.
        let asked = [&scene.first, &scene.second].map(|bedrock| bedrock.requests()[0].last_text().map(str::to_owned));
        assert_eq!(asked[0], asked[1]);
        assert!(asked[0].is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn answer_without_a_switch_has_no_trace_of_one() {
    let scene = scene(|model| model.with_patience(Duration::from_secs(2)).with_hedge(Duration::from_millis(900)));
    scene.first.reply(ScriptedReply::text("On Friday.").first_token_after(Duration::from_millis(600)));
    assert_eq!(scene.turn().await.0, "On Friday.");
    assert_eq!((scene.switches(), scene.call.conversation().metrics().model_switches), (vec![], 0));
    assert_eq!(scene.requests()[0].get("switches"), None);
    assert_eq!(scene.second.counters().requests, 0);
}

#[tokio::test(start_paused = true)]
async fn hanging_model_is_left_when_patience_ends() {
    let scene = scene(|model| model.with_patience(Duration::from_millis(1_500)));
    scene.first.reply(ScriptedReply::default().first_token_after(Duration::MAX));
    assert_eq!(scene.turn().await, ("The second answers.".to_owned(), 1_500));
    assert_eq!(scene.switches(), [format!("{CLAUDE} -> {NOVA}: timeout")]);
    assert_eq!(scene.first.until(|counters| counters.cancelled == 1).await.requests, 1);
}

#[tokio::test(start_paused = true)]
async fn model_cut_off_before_its_first_word_is_left() {
    let scene = scene(|model| model);
    // The first event says only whose words follow.
    scene.first.reply(ScriptedReply::text("On Friday.").cut_after(1));
    assert_eq!(scene.turn().await.0, "The second answers.");
    assert_eq!(scene.switches(), [format!("{CLAUDE} -> {NOVA}: cut")]);
}

#[tokio::test(start_paused = true)]
async fn breaker_opens_and_closes_across_turns() {
    let scene = scene(|model| model);
    for _ in 0..3 {
        scene.first.reply(ScriptedReply::refused("ThrottlingException"));
    }
    for _ in 0..5 {
        assert_eq!(scene.turn().await.0, "The second answers.");
    }
    assert_eq!(scene.first.counters().requests, 3, "the open breaker keeps requests away");
    let reasons = ["throttled", "throttled", "throttled", "circuitOpen", "circuitOpen"];
    assert_eq!(scene.switches(), reasons.map(|reason| format!("{CLAUDE} -> {NOVA}: {reason}")));
    advance(Duration::from_secs(30)).await;
    for _ in 0..2 {
        assert_eq!(scene.turn().await.0, "Yes, I am here.");
    }
    assert_eq!((scene.first.counters().requests, scene.switches().len()), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn hedge_wins_and_the_slow_request_is_cancelled() {
    let scene = scene(|model| model.with_hedge(Duration::from_millis(800)));
    scene.first.reply(ScriptedReply::text("Too late.").first_token_after(Duration::from_secs(4)));
    scene.second.reply(ScriptedReply::text("On Friday.").first_token_after(Duration::from_millis(300)).usage(20, 3));
    assert_eq!(scene.turn().await, ("On Friday.".to_owned(), 1_100));
    assert_eq!(scene.switches(), [format!("{CLAUDE} -> {NOVA}: hedge")]);
    let counters = scene.first.until(|counters| counters.cancelled == 1).await;
    assert_eq!((counters.requests, counters.finished), (1, 0));
    assert_eq!((scene.second.counters().finished, scene.second.counters().cancelled), (1, 0));
    assert_eq!((&scene.requests()[0]["input"], &scene.requests()[0]["output"]), (&json!(20), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn hedge_that_loses_is_cancelled() {
    let scene = scene(|model| model.with_hedge(Duration::from_millis(800)));
    scene.first.reply(ScriptedReply::text("On Friday.").first_token_after(Duration::from_secs(1)));
    scene.second.reply(ScriptedReply::default().first_token_after(Duration::MAX));
    assert_eq!(scene.turn().await, ("On Friday.".to_owned(), 1_000));
    assert_eq!(scene.switches(), Vec::<String>::new());
    assert_eq!(scene.second.until(|counters| counters.cancelled == 1).await.requests, 1);
}

#[tokio::test(start_paused = true)]
async fn engine_retries_after_all_models_failed() {
    let scene = scene(|model| model);
    scene.first.reply(ScriptedReply::refused("ThrottlingException"));
    scene.second.reply(ScriptedReply::refused("AccessDeniedException"));
    assert_eq!(scene.turn().await.0, "Yes, I am here.");
    let requests = scene.requests();
    let failures: Vec<_> = requests.as_array().unwrap().iter().map(|request| request["failure"].as_str()).collect();
    assert_eq!(failures, [Some("throttled"), None]);
    assert_eq!(requests[0]["switches"], json!([format!("{CLAUDE} -> {NOVA}: throttled")]));
}

#[tokio::test(start_paused = true)]
async fn barge_in_cancels_all_requests() {
    let scene = scene(|model| model.with_hedge(Duration::from_millis(800)));
    for bedrock in [&scene.first, &scene.second] {
        bedrock.reply(ScriptedReply::default().first_token_after(Duration::MAX));
    }
    scene.call.caller_said("When does it arrive?").unwrap();
    let reply = scene.call.reply().unwrap();
    sleep(Duration::from_secs(1)).await;
    drop(reply);
    for bedrock in [&scene.first, &scene.second] {
        assert_eq!(bedrock.until(|counters| counters.cancelled == 1).await.requests, 1);
    }
}
