//! The chat modality of `verbale serve`: the requests of its design, to the letter.

use serde_json::{Value, json};
use verbale::clock::{Clock, SystemClock};

use crate::server::Server;

const USER_LATER: &str = r#"{
  "scheduled_time": "2024-03-15T10:30:00Z",
  "modality": "chat",
  "data": {
    "role": "user",
    "content": "What's the weather today?"
  }
}"#;
const AGENT: &str = r#"{
  "role": "assistant",
  "content": "Based on the current weather data, it's sunny and 72°F."
}"#;
const AGENT_AS_EVENT: &str = r#"{
  "modality": "chat",
  "data": {
    "role": "assistant", 
    "content": "Based on the current weather data, it's sunny and 72°F."
  }
}"#;
const QUERY: &str = r#"{
  "conversation_id": "default",
  "limit": 10
}"#;
const MULTIMODAL: &str = r#"{
  "role": "user",
  "content": [
    {"type": "text", "text": "What's in this image?"},
    {"type": "image", "source": "url", "url": "https://example.com/image.jpg"}
  ]
}"#;
const SUNNY: &str = "Based on the current weather data, it's sunny and 72°F.";

fn post(server: &Server, path: &str, body: &str) -> (u16, Value) {
    let (status, answer) = server.request("POST", path, "", body);
    (status, serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{path}: {answer}")))
}

fn get(server: &Server, path: &str) -> Value {
    let (status, answer) = server.request("GET", path, "", "");
    assert_eq!(status, 200, "{path}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

fn submit(server: &Server, body: Value) -> Value {
    let (status, answer) = post(server, "/modalities/chat/submit", &body.to_string());
    assert_eq!((status, &answer["is_stored"]), (201, &json!(true)), "{answer}");
    answer["message"].clone()
}

fn query(server: &Server, query: Value) -> Vec<Value> {
    let (status, answer) = post(server, "/environment/modalities/chat/query", &query.to_string());
    assert_eq!(status, 200, "{answer}");
    answer["messages"].as_array().unwrap().clone()
}

fn contents(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["content"].as_str().unwrap()).collect()
}

#[test]
fn requests_of_the_design_make_its_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--log", "embedded:db"]);
    let (status, answer) = post(&server, "/events", USER_LATER);
    assert_eq!((status, &answer["status"]), (201, &json!("executed")), "the time has passed: {answer}");
    assert_eq!(answer["message"]["timestamp"], "2024-03-15T10:30:00Z");
    assert_eq!(post(&server, "/modalities/chat/submit", AGENT).0, 201);
    assert_eq!(post(&server, "/events/immediate", AGENT_AS_EVENT).0, 201);
    let (status, answer) = post(&server, "/environment/modalities/chat/query", QUERY);
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!((status, contents(messages)), (200, vec!["What's the weather today?", SUNNY, SUNNY]));
    for message in messages {
        assert_eq!(message["conversation_id"], "default");
        assert!(message["message_id"].is_string() && message["timestamp"].is_string(), "{message}");
    }
    let (status, answer) = post(&server, "/modalities/chat/submit", MULTIMODAL);
    let given: Value = serde_json::from_str(MULTIMODAL).unwrap();
    assert_eq!((status, &answer["message"]["content"]), (201, &given["content"]), "the content is stored as it is");

    let state = get(&server, "/environment/modalities/chat");
    assert_eq!((&state["modality_type"], &state["update_count"]), (&json!("chat"), &json!(4)));
    assert_eq!((&state["max_history_size"], &state["default_conversation_id"]), (&json!(1000), &json!("default")));
    assert_eq!(state["messages"][3], answer["message"]);
    let about = &state["conversations"]["default"];
    assert_eq!((&about["message_count"], &about["created_at"]), (&json!(4), &json!("2024-03-15T10:30:00Z")));
    assert_eq!(
        (&about["conversation_id"], &about["participant_roles"]),
        (&json!("default"), &json!(["user", "assistant"]))
    );
    assert_eq!(
        (&about["last_message_at"], &state["last_updated"]),
        (&answer["message"]["timestamp"], &about["last_message_at"])
    );
}

#[test]
fn chat_outlives_the_server_and_is_a_call_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--log", "embedded:db"];
    let server = Server::start(folder.path(), &arguments);
    let first =
        submit(&server, json!({ "role": "user", "content": "Hi.", "conversation_id": "one", "message_id": "m-1" }));
    submit(&server, json!({ "role": "user", "content": "Is it open?", "conversation_id": "one" }));
    server.kill();
    let server = Server::start(folder.path(), &arguments);
    let stored = query(&server, json!({ "conversation_id": "one" }));
    assert_eq!((contents(&stored), &stored[0]), (vec!["Hi.", "Is it open?"], &first), "what was stored is not lost");
    assert_eq!(get(&server, "/environment/modalities/chat")["conversations"], json!({}), "nobody has opened it here");
    submit(&server, json!({ "role": "assistant", "content": "It is.", "conversation_id": "one" }));
    assert_eq!(get(&server, "/v1/calls")["live"], json!(["one"]));
    let (status, answer) = post(&server, "/v1/calls/one", "{}");
    assert_eq!(status, 409, "{answer}");
    assert_eq!(post(&server, "/v1/calls/one/close", "{\"reason\": \"done\"}").0, 200);
    assert_eq!(get(&server, "/v1/calls/one")["reason"], "done");
    assert_eq!(contents(&query(&server, json!({ "conversation_id": "one" }))), ["Hi.", "Is it open?", "It is."]);
    let (_, page) = server.request("GET", "/calls/one", "", "");
    assert!(page.contains("Is it open?") && page.contains(">The call has ended</p>"), "{page}");

    assert_eq!(post(&server, "/v1/calls/two", "{}").0, 201);
    let (status, answer) =
        post(&server, "/modalities/chat/submit", r#"{"role": "user", "content": "Hi.", "conversation_id": "two"}"#);
    assert_eq!(status, 409, "{answer}");
    submit(&server, json!({ "role": "user", "content": "Again.", "conversation_id": "one" }));
    assert_eq!(post(&server, "/v1/calls/one/erase", "").0, 200);
    assert_eq!(post(&server, "/environment/modalities/chat/query", r#"{"conversation_id": "one"}"#).0, 410);
    assert_eq!(post(&server, "/v1/drain", "").0, 200);
    assert_eq!(post(&server, "/modalities/chat/submit", AGENT).0, 503);
}

#[test]
fn query_filters_by_conversation_role_time_and_text() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    // One came late, and two are of one time.
    for (minute, id, role, content, conversation) in [
        (30, "b", "user", "Is the ferry late?", "one"),
        (32, "c", "assistant", "The FERRY is in time.", "one"),
        (31, "a", "user", "Or is it early?", "one"),
        (30, "a", "user", "Good morning.", "one"),
        (31, "d", "user", "Another ferry?", "two"),
    ] {
        let timestamp = format!("2024-03-15T10:{minute}:00Z");
        let metadata = json!({ "model": "m", "tokens": 3 });
        let given = json!({
            "modality_type": "chat", "timestamp": timestamp, "input_id": id, "message_id": format!("{id}-{minute}"),
            "role": role, "content": content, "conversation_id": conversation, "metadata": metadata,
        });
        let mut answered = submit(&server, given.clone());
        answered["modality_type"] = "chat".into();
        assert_eq!(answered, given);
    }
    let found = |filter: Value| contents(&query(&server, filter)).join(" ");
    let one = "Good morning. Is the ferry late? Or is it early? The FERRY is in time.";
    assert_eq!(found(json!({ "conversation_id": "one" })), one);
    assert_eq!(found(json!({ "conversation_id": "one", "limit": 2 })), "Or is it early? The FERRY is in time.");
    assert_eq!(found(json!({ "search": "ferry" })), "Is the ferry late? Another ferry? The FERRY is in time.");
    assert_eq!(found(json!({ "role": "assistant" })), "The FERRY is in time.");
    let times = json!({ "since": "2024-03-15T10:31:00Z", "until": "2024-03-15T10:32:00Z", "conversation_id": "one" });
    assert_eq!(found(times), "Or is it early?");
    assert_eq!(found(json!({ "conversation_id": "three" })), "", "there is none");
    for (second, content) in [("00.5", "Two."), ("00", "One."), ("01", "Three.")] {
        let timestamp = format!("2024-03-15T10:30:{second}Z");
        submit(
            &server,
            json!({ "timestamp": timestamp, "role": "user", "content": content, "conversation_id": "four" }),
        );
    }
    assert_eq!(found(json!({ "conversation_id": "four" })), "One. Two. Three.");
}

#[test]
fn wrong_inputs_are_refused_without_their_words() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    submit(&server, json!({ "role": "user", "content": "Hi.", "message_id": "m-1" }));
    let future = "2999-01-01T00:00:00Z";
    for (path, body, status) in [
        ("/modalities/chat/submit", json!({ "role": "secret", "content": "secret" }), 400),
        ("/modalities/chat/submit", json!({ "role": "user", "content": "secret", "secret": 1 }), 400),
        ("/modalities/chat/submit", json!({ "role": "user", "content": [{ "text": "secret" }] }), 400),
        ("/modalities/chat/submit", json!({ "role": "user", "content": " " }), 400),
        ("/modalities/chat/submit", json!({ "role": "user", "content": "secret", "timestamp": "secret" }), 400),
        ("/modalities/chat/submit", json!({ "role": "user", "content": "secret", "modality_type": "secret" }), 400),
        ("/modalities/chat/submit", json!({ "messages": [{ "role": "user", "content": "secret" }] }), 400),
        ("/modalities/chat/submit", json!([{ "role": "user", "content": "secret" }]), 400),
        ("/modalities/chat/submit", json!({ "role": "user", "content": "secret", "message_id": "m-1" }), 409),
        ("/events/immediate", json!({ "modality": "secret", "data": { "role": "user", "content": "secret" } }), 400),
        ("/events", json!({ "scheduled_time": "secret", "modality": "chat", "data": {} }), 400),
        ("/events", json!({ "scheduled_time": future, "modality": "chat", "data": { "role": "secret" } }), 400),
        ("/environment/modalities/chat/query", json!({ "role": "secret" }), 400),
        ("/environment/modalities/chat/query", json!({ "since": "secret" }), 400),
    ] {
        let (answered, answer) = post(&server, path, &body.to_string());
        assert!(answered == status && !answer["error"].as_str().unwrap().contains("secret"), "{path} {body}: {answer}");
    }
    assert_eq!(query(&server, json!({})).len(), 1, "nothing was added");
}

#[test]
fn message_of_later_waits_for_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let soon = jiff::Timestamp::from_second(SystemClock.now_ms() / 1_000 + 2).unwrap().to_string();
    let data = json!({ "role": "user", "content": "Good morning." });
    let event = |time: &str| json!({ "scheduled_time": time, "modality": "chat", "data": data }).to_string();
    let (status, answer) = post(&server, "/events", &event(&soon));
    // A slow machine may have passed the time.
    assert!(matches!(status, 201 | 202), "{answer}");
    let far = "2999-01-01T00:00:00Z";
    let (status, waits) = post(&server, "/events", &event(far));
    assert_eq!((status, &waits["status"], &waits["scheduled_time"]), (202, &json!("pending"), &json!(far)), "{waits}");
    let pending = || get(&server, "/events/pending")["pending"].as_array().unwrap().clone();
    assert!(pending().len() <= 2 && !json!(pending()).to_string().contains("Good"), "{:?}", pending());
    while query(&server, json!({ "conversation_id": "default" })).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let messages = query(&server, json!({ "conversation_id": "default" }));
    assert_eq!((messages.len(), &messages[0]), (1, &answer["message"]));
    assert_eq!(messages[0]["timestamp"], soon.as_str());
    let new = submit(&server, json!({ "role": "user", "content": "Later." }));
    let of_now = |message: &Value| message["message_id"].as_str().unwrap().starts_with("01");
    assert!(of_now(&new) && of_now(&messages[0]), "{new}: an id of the year 2999 begins otherwise");
    assert_eq!(pending()[0]["event_id"], waits["event_id"]);
}
