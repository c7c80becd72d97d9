//! Calls of Twilio's ConversationRelay at `verbale serve`, with a scripted Twilio. Waits are for events, with a deadline that
//! only ends a test that hangs.

#![cfg(unix)]

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use verbale::dynamodb::DynamoLog;
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, CallLog, CallQuery, CallerId};
use verbale::{MessagesManager, PlainMessage};

use crate::phone::{self, Phone, TOKEN, Twilio};
use crate::server::{PATIENCE, Server};
use crate::service::{Fault, KEY, Service};
use crate::{run, shown};

const GREETING: &str = "Good morning, Pellam Island Ferries, you are speaking with the assistant. How can I help?";
const BACK: &str = "I am sorry, the line was interrupted. Please go on.";
/// The fake model's answer to the words that stand for none.
const GOES_ON: &str = "You said: ... What else?";
const SALT: &str = "a salt of 16 bytes";
/// A word of the caller that no trace may have.
const SECRET: &str = "Okonjo";
const SLOW: &str = "Tell me slowly: One two. Three four. Five six seven eight nine ten. And so on.";
const FIRST: &str = "You said: Tell me slowly: One two. ";

fn folder() -> TempDir {
    settings(json!({ "start": { "greeting": GREETING }, "attributes": { "language": "en-US" } }))
}

fn settings(settings: Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("twilio.json"), settings.to_string()).unwrap();
    folder
}

fn server(folder: &Path, more: &[&str]) -> Server {
    let mut arguments = vec!["--twilio", "twilio.json", "--log", "embedded:db", "--spool", "spool", "--salt", SALT];
    arguments.extend(more);
    let variables = [("TWILIO_AUTH_TOKEN", TOKEN), ("VERBALE_CALLBACK_KEY", KEY)];
    let stderr = File::options().append(true).create(true).open(folder.join("stderr")).unwrap();
    Server::start_with(folder, &arguments, &variables, stderr.into())
}

/// Returns how a call ended in the log of a server that has ended, and its text. The call is found by its caller.
async fn logged(folder: &Path, call_id: &str) -> (Option<String>, String) {
    let log = DynamoLog::new(EmbeddedDynamo::open(folder.join("db")).unwrap().client());
    let caller = CallerId::new(phone::FROM, SALT.as_bytes()).unwrap();
    let calls = log.list_calls(&CallQuery::of_caller(None, caller)).await.unwrap().calls;
    assert_eq!(calls.iter().map(|header| header.call_id().as_str()).collect::<Vec<_>>(), [call_id]);
    let call = log.read_call(&CallId::new(call_id).unwrap()).await.unwrap();
    let text = serde_json::to_string(&call.records).unwrap();
    let printed = std::fs::read_to_string(folder.join("stderr")).unwrap();
    assert!(!text.contains(phone::FROM) && !printed.contains(SECRET), "{text}\n{printed}");
    let reason = call.header.as_ref().and_then(|header| header.call_end()).map(|end| end.reason.to_string());
    (reason, MessagesManager::<PlainMessage>::restore(call.records).unwrap().to_string())
}

fn over(call: &'static str) -> [(&'static str, &'static str); 3] {
    [("CallSid", call), ("CallStatus", "completed"), ("SessionStatus", "completed")]
}

fn failed(call: &'static str) -> [(&'static str, &'static str); 3] {
    [("CallSid", call), ("CallStatus", "in-progress"), ("SessionStatus", "failed")]
}

/// Waits until the server has this text at a path.
async fn until(server: &Server, path: &str, text: &str) {
    let waiting = async {
        loop {
            let (_, body) = server.request("GET", path, "", "");
            if body.contains(text) {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{path} never has {text}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn call_from_the_greeting_to_the_hangup() {
    let folder = folder();
    let server = server(folder.path(), &[]);
    let twilio = Twilio::of(&server);
    let twiml = twilio.post("/v1/twilio/voice", &[("CallSid", "CA1"), ("From", phone::FROM)]).await;
    assert!(
        twiml.contains("events=\"speaker-events tokens-played\"") && twiml.contains("language=\"en-US\""),
        "{twiml}"
    );
    assert!(twiml.contains(&format!("url=\"ws://{}/v1/twilio/relay\"", server.address)), "{twiml}");

    let mut phone = Phone::connect(&twilio, "CA1").await;
    let greeting = phone.hears().await;
    assert_eq!(greeting, GREETING);
    phone.plays(&[&greeting]).await;
    phone.says(&format!("This is {SECRET}.")).await;
    let answer = phone.hears().await;
    assert_eq!(answer, format!("You said: This is {SECRET}. What else?"));
    phone.plays(&[&answer]).await;

    // Messages that say nothing do no harm.
    for message in ["no JSON", "[]", r#"{"type":"unknown"}"#, r#"{"type":"prompt","voicePrompt":7}"#] {
        phone.sends_text(message).await;
    }
    phone.sends(json!({"type": "error", "description": format!("Invalid message: {SECRET}")})).await;
    phone
        .sends(json!({"type": "prompt", "voicePrompt": format!("{SECRET} wants"), "lang": "en-US", "last": false}))
        .await;

    // The caller interrupts a reply that is still being generated.
    phone.says(SLOW).await;
    assert_eq!(phone.sentence().await, FIRST);
    phone.starts_playing("You said: Tell").await;
    phone.interrupts(FIRST.trim()).await;
    phone.says("Thank you, I know them.").await;
    let heard = phone.hears().await;
    assert!(heard.ends_with("You said: Thank you, I know them. What else?"), "{heard}");
    assert!(!heard.contains("And so on"), "the reply was not stopped: {heard}");
    phone.plays(&[&heard]).await;

    // The rest of the server sees the call.
    let (_, live) = server.request("GET", "/v1/calls", "", "");
    assert_eq!(live, r#"{"live":["CA1"]}"#);
    let (_, metrics) = server.request("GET", "/metrics", "", "");
    for line in [
        "verbale_serve_calls 1",
        "verbale_serve_sockets 1",
        "verbale_serve_twilio_problems_total{problem=\"unreadable\"} 4",
        "verbale_serve_twilio_problems_total{problem=\"reported\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }

    // Digits of the keypad.
    for digit in ["4", "2", "#"] {
        phone.sends(json!({"type": "dtmf", "digit": digit})).await;
    }
    phone.hears().await;

    assert!(twilio.post("/v1/twilio/after?reconnects=0", &over("CA1")).await.contains("<Hangup/>"));
    phone.is_told_the_end("closed").await;
    server.begin_terminate();
    server.ended();
    let (reason, text) = logged(folder.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("hangup"));
    for part in [
        &format!("This is {SECRET}."),
        "heard={'You said: Tell me slowly: One two.' by wordTiming}",
        "(The caller typed 42 on the keypad.)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Incomplete transcripts and errors are no words of the caller, so there are those and their echo.
    assert_eq!(text.matches(SECRET).count(), 2, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_twilio_has_not_signed_are_refused() {
    let folder = folder();
    let signed = server(folder.path(), &[]);
    let twilio = Twilio::of(&signed);
    let stranger = twilio.with_token("54321");
    for path in ["/v1/twilio/voice", "/v1/twilio/after"] {
        assert_eq!(stranger.status(path, &[("CallSid", "CA1")]).await, 403);
        assert_eq!(twilio.status(path, &[("CallSid", "CA1")]).await, 200);
        assert_eq!(twilio.without_signature(path).await, 403);
    }
    assert_eq!(Phone::try_connect(&stranger).await.err(), Some(403));
    assert!(Phone::try_connect(&twilio).await.is_ok());
    until(&signed, "/metrics", "verbale_serve_twilio_problems_total{problem=\"unsigned\"} 5").await;

    // Without an auth token, a request is one of this host, or has a token of the server.
    std::fs::write(folder.path().join("tokens"), "call 0123456789abcdef\n").unwrap();
    let local = Server::start(folder.path(), &["--twilio", "twilio.json"]);
    let tokens = Server::start(folder.path(), &["--twilio", "twilio.json", "--tokens", "tokens"]);
    let voice = |server: &Server, headers: &str| {
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", server.address) };
        let form = "Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n";
        server.send(&format!("POST /v1/twilio/voice HTTP/1.1\r\n{host}{form}{headers}\r\n")).0
    };
    assert_eq!(voice(&local, ""), 200);
    assert_eq!(voice(&local, "Host: evil.example\r\n"), 403);
    assert_eq!(local.upgrade("/v1/twilio/relay", "Origin: https://evil.example\r\n"), 403);
    assert_eq!(voice(&tokens, ""), 401);
    assert_eq!(tokens.upgrade("/v1/twilio/relay", ""), 401);
    assert_eq!(voice(&tokens, "Authorization: Bearer 0123456789abcdef\r\n"), 200);
    assert_eq!(local.request("POST", "/v1/twilio/voice", "", "{}").0, 415, "JSON is no form");
    // A server without settings takes no calls.
    assert_eq!(voice(&Server::start(folder.path(), &[]), ""), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn call_continues_on_its_next_connection() {
    let folder = folder();
    let server = server(folder.path(), &[]);
    let twilio = Twilio::of(&server);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let greeting = phone.hears().await;
    phone.plays(&[&greeting]).await;
    phone.says(SLOW).await;
    assert_eq!(phone.sentence().await, FIRST);
    phone.starts_playing(FIRST.trim()).await;
    phone.drops().await;

    let twiml = twilio.post("/v1/twilio/after?reconnects=0", &failed("CA1")).await;
    assert!(twiml.contains("/v1/twilio/after?reconnects=1") && twiml.contains("<ConversationRelay"), "{twiml}");
    let mut phone = Phone::connect(&twilio, "CA1").await;
    // The model goes on with the answer that was cut.
    assert_eq!(phone.hears().await, GOES_ON);
    phone.plays(&[GOES_ON]).await;
    phone.says("When does it leave?").await;
    assert_eq!(phone.hears().await, "You said: When does it leave? What else?");

    // A third connection replaces the second one, even if that is still open and an answer is running.
    phone.says(SLOW).await;
    assert_eq!(phone.sentence().await, FIRST);
    let mut third = Phone::connect(&twilio, "CA1").await;
    assert!(!third.sentence().await.contains("Good morning"));
    phone.is_closed().await;

    server.begin_terminate();
    third.is_told_the_end("handed over").await;
    server.ended();
    let (reason, text) = logged(folder.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("drain"));
    assert_eq!(text.matches("Good morning, Pellam").count(), 1, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn call_without_a_next_connection_is_closed() {
    let folder = folder();
    let server = server(folder.path(), &["--grace-s", "0"]);
    let twilio = Twilio::of(&server);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    phone.hears().await;
    phone.drops().await;
    until(&server, "/v1/calls/CA1", "\"reason\":\"connection lost\"").await;
    until(&server, "/v1/calls", r#"{"live":[]}"#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caller_hears_an_apology_if_the_server_has_no_room() {
    let folder = settings(json!({ "apology": "Try again & again." }));
    let server = server(folder.path(), &["--max-calls", "1"]);
    let twilio = Twilio::of(&server);
    assert_eq!(server.request("POST", "/v1/calls/one", "", "{}").0, 201);
    Phone::connect(&twilio, "CA1").await.is_closed().await;
    let twiml = twilio.post("/v1/twilio/after?reconnects=9", &failed("CA1")).await;
    assert!(twiml.contains("/v1/twilio/after?reconnects=10"), "{twiml}");
    let twiml = twilio.post("/v1/twilio/after?reconnects=10", &failed("CA1")).await;
    assert!(twiml.contains("<Say>Try again &amp; again.</Say><Hangup/>"), "{twiml}");
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_server_hands_its_calls_over() {
    let folder = folder();
    let first = server(folder.path(), &[]);
    let twilio = Twilio::of(&first);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let greeting = phone.hears().await;
    assert_eq!(greeting, GREETING);
    // This session has no events of speakers and tokens.
    phone.sends(json!({"type": "prompt", "voicePrompt": "When does it leave?", "lang": "en-US", "last": true})).await;
    phone.hears().await;
    phone.sends(json!({"type": "prompt", "voicePrompt": "Thank you.", "lang": "en-US", "last": true})).await;
    let answer = phone.hears().await;
    phone.plays(&[&answer]).await;
    phone.is_up_to_date().await;
    assert_eq!(first.request("POST", "/v1/drain", "", "").0, 200);
    phone.is_told_the_end("handed over").await;
    assert_eq!(twilio.status("/v1/twilio/voice", &[("CallSid", "CA2")]).await, 503);
    assert_eq!(Phone::try_connect(&twilio).await.err(), Some(503));
    let handed_over = [
        ("CallSid", "CA1"),
        ("CallStatus", "in-progress"),
        ("SessionStatus", "ended"),
        ("HandoffData", r#"{"reason":"handed over"}"#),
    ];
    // The server that is stopping connects the call to the next one.
    assert!(twilio.post("/v1/twilio/after?reconnects=1", &handed_over).await.contains("/v1/twilio/after?reconnects=2"));
    first.begin_terminate();
    first.ended();

    let second = server(folder.path(), &[]);
    let twilio = Twilio::of(&second);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    assert_eq!(phone.hears().await, BACK);
    twilio.post("/v1/twilio/after?reconnects=2", &over("CA1")).await;
    second.begin_terminate();
    second.ended();
    let (reason, text) = logged(folder.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("hangup"));
    // The caller's words ended the greeting.
    assert!(!text.contains("heard={'Good morning"), "{text}");
    assert_eq!(text.matches("Good morning, Pellam").count(), 1, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_server_continues_its_calls_and_books_once() {
    // The service books, and then does not answer.
    let service = Service::start([Fault::Holds]).await;
    let schema = json!({ "type": "object", "properties": { "seats": { "type": "integer" } } });
    let book = json!({
        "name": "book", "description": "Books seats.", "input_schema": schema, "callback": service.url("/book"),
        "acts_once": true, "deduplicates_by_key": true, "can_look_up": true,
    });
    let folder = settings(json!({ "start": { "greeting": GREETING, "tools": [book] } }));
    let first = server(folder.path(), &["--callback", &service.url("/")]);
    let twilio = Twilio::of(&first);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let greeting = phone.hears().await;
    phone.plays(&[&greeting]).await;
    phone.says(&format!("This is {SECRET}, please use book {{\"seats\": 2}}")).await;
    assert_eq!(phone.sentence().await, "One moment. ");
    service.seen(1).await;
    first.kill();

    let second = server(folder.path(), &["--callback", &service.url("/")]);
    let twilio = Twilio::of(&second);
    assert!(twilio.post("/v1/twilio/after?reconnects=0", &failed("CA1")).await.contains("<ConversationRelay"));
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let heard = phone.hears().await;
    assert!(heard.starts_with("The tool says: "), "{heard}");
    phone.plays(&[&heard]).await;
    // The result is found in the background.
    until(&second, "/v1/calls/CA1", "ticket F-17").await;
    let seen = service.seen(2).await;
    assert_eq!((&seen[0].body["type"], &seen[1].body["type"]), (&json!("tool_called"), &json!("tool_lookup")));
    assert_eq!((seen[1].body["idempotency_key"] == seen[0].body["idempotency_key"], service.effects()), (true, 1));
    // The assistant reports it by itself, unless it was found before the first answer.
    if !heard.contains("ticket F-17") {
        let reported = phone.hears().await;
        phone.plays(&[&reported]).await;
    }
    phone.is_up_to_date().await;
    twilio.post("/v1/twilio/after?reconnects=1", &over("CA1")).await;
    second.begin_terminate();
    second.ended();
    let (reason, text) = logged(folder.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("hangup"));
    assert_eq!((text.matches("Good morning, Pellam").count(), service.effects()), (1, 1), "{text}");
}

#[test]
fn server_does_not_start_with_wrong_settings() {
    let tool = json!({ "name": "book", "description": "Books seats.", "input_schema": { "type": "object" } });
    let mut elsewhere = tool.clone();
    elsewhere["callback"] = "https://tools.example.com".into();
    for (wrong, expected) in [
        (json!({ "start": { "tools": [tool] } }), "the tool \"book\" has no callback"),
        (json!({ "start": { "tools": [elsewhere] } }), "the server allows no callbacks"),
        (json!({ "attributes": { "url": "wss://evil.example" } }), "the attribute \"url\""),
        (json!({ "greeting": GREETING }), "unknown field `greeting`"),
    ] {
        let folder = settings(wrong);
        let shown = shown(&run(folder.path(), "verbale serve --listen 127.0.0.1:0 --twilio twilio.json"));
        assert!(shown.contains(expected) && shown.ends_with("(exit status 2)\n"), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_in_the_documentation_are_accepted() {
    let page = include_str!("../../../docs/twilio.md");
    let (_, rest) = page.split_once("```json\n").unwrap();
    let folder = settings(serde_json::from_str(rest.split_once("```").unwrap().0).unwrap());
    let server = server(folder.path(), &["--callback", "https://tools.example.com/calls"]);
    let mut phone = Phone::connect(&Twilio::of(&server), "CA1").await;
    assert_eq!(phone.hears().await, "Good morning, Pellam Island Ferries. How can I help?");
}
