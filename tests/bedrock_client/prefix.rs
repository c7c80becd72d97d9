//! The bytes before a cache point equal those of the previous turn.

use serde_json::json;
use verbale::bedrock::BedrockSettings;
use verbale::model::ModelRequest;
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Content, MessagesManager, PlainMessage, ToolCall, Value};

use super::{CLAUDE, ask, claude, for_turns, question, tool, window};

const POINT: &str = r#"{"cachePoint":{"type":"default"}}"#;
const NOVA: &str = "eu.amazon.nova-lite-v1:0";

fn request(manager: &MessagesManager<PlainMessage>) -> ModelRequest {
    let mut request = window(manager);
    request.tools = [tool("get_parcel"), tool("get_time")].into();
    request.system = vec!["You answer the phone of a parcel service.".into()];
    request.memory = Some("The caller is Mia.".into());
    request
}

/// Runs a call with tool calls and returns the body of each request.
async fn bodies(bedrock: &FakeBedrock, settings: BedrockSettings) -> Vec<String> {
    let model = for_turns(bedrock, settings);
    let mut manager = MessagesManager::<PlainMessage>::new();
    for turn in 0..4 {
        manager.add_user(format!("And parcel {turn}?").as_str()).unwrap();
        ask(&model, request(&manager)).await.unwrap();
        let arguments = json!({"id": turn, "a": 1, "b": 2.5, "c": {"x": 1, "y": 2, "z": 3}, "d": [], "e": null});
        let call = ToolCall::new(format!("call_{turn}"), "get_parcel", Value::try_from(arguments.clone()).unwrap());
        let call = call.unwrap();
        manager.add_assistant(["One moment.".into(), Content::from(call.clone())]).unwrap();
        manager.add_user(Content::from(call.success([Value::try_from(arguments).unwrap()]))).unwrap();
        ask(&model, request(&manager)).await.unwrap();
        manager.add_assistant("In Milan.").unwrap();
    }
    bedrock.take_requests().iter().map(|request| String::from_utf8(request.body().to_vec()).unwrap()).collect()
}

/// Returns the messages as sent, without cache points, and the rest of the body.
fn parts(body: &str) -> (String, &str) {
    let (messages, rest) = body.split_once(r#"],"system":"#).unwrap();
    let messages = messages.replace(&format!(",{POINT}"), "");
    assert!(messages.starts_with(r#"{"messages":["#) && !messages.contains("cachePoint"));
    (messages, rest)
}

#[tokio::test]
async fn earlier_messages_are_sent_again_byte_for_byte() {
    for model_id in [CLAUDE, NOVA] {
        let bedrock = FakeBedrock::default();
        let bodies = bodies(&bedrock, BedrockSettings::new(model_id)).await;
        assert_eq!((bodies.len(), bedrock.counters().refused), (8, 0));
        for two in bodies.windows(2) {
            let ((before, prompts), (now, same_prompts)) = (parts(&two[0]), parts(&two[1]));
            assert!(now.starts_with(&before), "\n{before}\n{now}");
            assert_eq!(same_prompts, prompts);
        }
        // Another process sends the same bytes.
        assert_eq!(self::bodies(&FakeBedrock::default(), BedrockSettings::new(model_id)).await, bodies);
    }
}

#[tokio::test]
async fn request_has_a_cache_point_where_the_previous_one_had_its_last() {
    let bedrock = FakeBedrock::default();
    let bodies = bodies(&bedrock, BedrockSettings::new(CLAUDE)).await;
    for two in bodies.windows(2) {
        let points: Vec<_> = two.iter().map(|body| body.matches(POINT).count()).collect();
        assert!(points.iter().all(|points| (3..=4).contains(points)), "{points:?}");
        // The prefix before the last point of the previous turn is before a point again.
        let (before, now) = (messages_before_last_point(&two[0]), &two[1]);
        let read = now.match_indices(POINT).any(|(at, _)| now[..at].replace(&format!(",{POINT}"), "") == before);
        assert!(read, "\n{before}\n{now}");
    }
    let last = bodies.last().unwrap();
    let prompt = format!(r#""system":[{{"text":"You answer the phone of a parcel service."}},{POINT},{{"text":"#);
    assert!(last.contains(&prompt) && last.ends_with(&format!("{POINT}]}}}}")), "{last}");
}

#[tokio::test]
async fn late_instructions_follow_the_cached_prefix() {
    let bedrock = FakeBedrock::default();
    let mut request = question();
    request.system = ["You answer the phone.", " ", "Be kind."].map(Into::into).into();
    let mut memory = request.clone();
    memory.memory = Some("The caller is Mia.".into());
    let (mut late, mut only_late) = (memory.clone(), question());
    late.late_system.push("The caller has a new address.".into());
    only_late.late_system.clone_from(&late.late_system);
    let mut systems = Vec::new();
    for request in [request, memory, late, only_late] {
        ask(&claude(&bedrock), request).await.unwrap();
        let body = String::from_utf8(bedrock.requests().last().unwrap().body().to_vec()).unwrap();
        systems.push(body.split_once(r#""system":["#).unwrap().1.to_owned());
    }
    let stable = format!(r#"{{"text":"You answer the phone."}},{{"text":"Be kind."}},{POINT}"#);
    let new = r#"{"text":"The caller has a new address."}"#;
    assert_eq!(systems[0], format!("{stable}]}}"));
    assert!(systems[1].starts_with(&format!("{stable},{{")) && systems[1].contains("The caller is Mia."));
    assert_eq!(systems[2], systems[1].replacen(POINT, &format!("{POINT},{new}"), 1));
    assert_eq!(systems[3], format!("{new}]}}"));
    assert_eq!(bedrock.counters().refused, 0);
}

fn messages_before_last_point(body: &str) -> String {
    let (messages, _) = body.split_once(r#"],"system":"#).unwrap();
    messages[..messages.rfind(POINT).unwrap()].replace(&format!(",{POINT}"), "")
}

#[tokio::test]
async fn cache_points_are_left_out_if_unsupported_or_turned_off() {
    let bedrock = FakeBedrock::default();
    for (settings, points) in [
        (BedrockSettings::new("openai.gpt-oss-120b-1:0"), 0),
        (BedrockSettings::new(CLAUDE).with_cache_points(false), 0),
        // After the system prompt and the caller's text, not after results or tools.
        (BedrockSettings::new(NOVA), 2),
        (BedrockSettings::new(CLAUDE), 4),
    ] {
        let bodies = bodies(&bedrock, settings.clone()).await;
        assert_eq!(bodies[6].matches(POINT).count(), points, "{settings:?}");
    }
    let bodies = bodies(&bedrock, BedrockSettings::new(CLAUDE).with_base_model("openai.gpt-oss-120b-1:0")).await;
    assert!(bodies.iter().all(|body| !body.contains(POINT)));
    assert_eq!(bedrock.counters().refused, 0);
    bedrock.reply(ScriptedReply::text("On Friday."));
    ask(&claude(&bedrock), question()).await.unwrap();
    let requests = bedrock.requests();
    assert_eq!(String::from_utf8_lossy(requests[0].body()).matches(POINT).count(), 1);
}
