//! The example `twilio_relay` as a process, and a scripted Twilio that calls it.
//!
//! The tests start this test program again as the example, so that they run without another build. Waits are for events,
//! with a deadline that only ends a test that hangs.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests"
)]

mod process;
#[path = "../../examples/twilio_relay/main.rs"]
#[allow(dead_code, reason = "`main` parses the arguments of this test program")]
mod program;
mod twilio;

use std::path::Path;

use serde_json::json;
use verbale::dynamodb::DynamoLog;
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, CallLog, CallQuery, CallerId};
use verbale::{MessagesManager, PlainMessage};

use process::Process;
use twilio::{Phone, Twilio};

const GREETING: &str = "Good morning, Pellam Island Ferries, you are speaking with the assistant. How can I help?";
const DEPARTURES: &str = "The ferry leaves at seven fifteen, at ten thirty and at noon. Is there anything else?";
/// A word of the caller that no trace may have.
const SECRET: &str = "Okonjo";

#[test]
#[ignore = "the other tests start and kill it"]
fn life() {
    if let Some(arguments) = process::arguments() {
        program::run(&arguments).unwrap();
    }
}

/// Returns how a call ended in the log of a process that has ended, and its text. The call is found by its caller.
async fn logged(directory: &Path, call_id: &str) -> (Option<String>, String) {
    let log = DynamoLog::new(EmbeddedDynamo::open(directory).unwrap().client());
    let caller = CallerId::new(twilio::FROM, process::SALT.as_bytes()).unwrap();
    let calls = log.list_calls(&CallQuery::of_caller(None, caller)).await.unwrap().calls;
    assert_eq!(calls.iter().map(|header| header.call_id().as_str()).collect::<Vec<_>>(), [call_id]);
    let call = log.read_call(&CallId::new(call_id).unwrap()).await.unwrap();
    let text = serde_json::to_string(&call.records).unwrap();
    assert!(!text.contains(twilio::FROM), "{text}");
    let reason = call.header.as_ref().and_then(|header| header.call_end()).map(|end| end.reason.to_string());
    (reason, MessagesManager::<PlainMessage>::restore(call.records).unwrap().to_string())
}

#[tokio::test]
async fn call_from_the_greeting_to_the_hangup() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &["--verbose", "--service-ms", "0"]);
    let twilio = Twilio::of(&process);
    let twiml = twilio.post("/voice", &[("CallSid", "CA1"), ("From", twilio::FROM)]).await;
    assert!(twiml.contains("events=\"speaker-events tokens-played\""), "{twiml}");
    assert!(twiml.contains(&format!("url=\"{}\"", process.url("/relay").replace("http", "ws"))), "{twiml}");

    let mut phone = Phone::connect(&twilio, "CA1").await;
    let greeting = phone.hears().await;
    assert_eq!(greeting, GREETING);
    phone.plays(&[&greeting]).await;

    // A tool, in two pieces of speech.
    phone.says(&format!("This is {SECRET}. When does the ferry leave?")).await;
    let answer = phone.hears().await;
    assert_eq!(answer, format!("One moment, I am looking it up. {DEPARTURES}"));
    phone.plays(&["One moment, I am looking it up.", DEPARTURES]).await;

    // Messages that say nothing do no harm.
    for message in ["no JSON", "[]", r#"{"type":"unknown"}"#, r#"{"type":"prompt","voicePrompt":7}"#] {
        phone.sends_text(message).await;
    }
    phone.sends(json!({"type": "error", "description": format!("Invalid message: {SECRET}")})).await;
    phone
        .sends(json!({"type": "prompt", "voicePrompt": format!("{SECRET} wants"), "lang": "en-US", "last": false}))
        .await;

    // The caller interrupts a reply that is still being generated.
    phone.says("What are your conditions?").await;
    assert_eq!(phone.sentence().await, "There are five conditions. ");
    phone.starts_playing("There are five").await;
    phone.interrupts("There are five conditions.").await;
    phone.says("Thank you, I know them.").await;
    let heard = phone.hears().await;
    assert!(heard.ends_with("I am here. You can ask when the ferry leaves, or book a place."), "{heard}");
    assert!(!heard.contains("wind keeps us in the harbour"), "the reply was not stopped: {heard}");
    phone.plays(&[&heard]).await;

    // Digits of the keypad.
    for digit in ["4", "2", "#"] {
        phone.sends(json!({"type": "dtmf", "digit": digit})).await;
    }
    phone.hears().await;

    let parameters = [("CallSid", "CA1"), ("CallStatus", "completed"), ("SessionStatus", "completed")];
    assert!(twilio.post("/after?reconnects=0", &parameters).await.contains("<Hangup/>"));
    phone.is_told_the_end("closed").await;
    let printed = process.terminate();
    assert!(!printed.contains(SECRET), "{printed}");
    assert_eq!(printed.matches("a message of Twilio is ignored").count(), 4, "{printed}");

    let (reason, text) = logged(directory.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("hangup"));
    for part in [
        &format!("This is {SECRET}. When does the ferry leave?"),
        "heard={'There are five conditions.' by wordTiming}",
        "(The caller typed 42 on the keypad.)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Incomplete transcripts and errors are no words of the caller.
    assert_eq!(text.matches(SECRET).count(), 1, "{text}");
}

#[tokio::test]
async fn requests_that_twilio_has_not_signed_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &[]);
    let twilio = Twilio::of(&process);
    let stranger = twilio.with_token("54321");
    for path in ["/voice", "/after"] {
        assert_eq!(stranger.status(path, &[("CallSid", "CA1")]).await, 403);
        assert_eq!(twilio.status(path, &[("CallSid", "CA1")]).await, 200);
        assert_eq!(twilio.without_signature(path).await, 403);
    }
    assert_eq!(Phone::try_connect(&stranger).await.err(), Some(403));
    process.terminate();
}

#[tokio::test]
async fn call_continues_on_its_next_connection() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &[]);
    let twilio = Twilio::of(&process);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let greeting = phone.hears().await;
    phone.plays(&[&greeting]).await;
    phone.says("What are your conditions?").await;
    assert_eq!(phone.sentence().await, "There are five conditions. ");
    phone.starts_playing("There are five conditions.").await;
    phone.drops().await;

    let failed = [("CallSid", "CA1"), ("CallStatus", "in-progress"), ("SessionStatus", "failed")];
    let twiml = twilio.post("/after?reconnects=0", &failed).await;
    assert!(twiml.contains("/after?reconnects=1") && twiml.contains("<ConversationRelay"), "{twiml}");
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let heard = phone.hears().await;
    assert!(!heard.contains("Good morning"), "{heard}");
    phone.plays(&[&heard]).await;
    phone.says("When does it leave?").await;
    assert!(phone.hears().await.ends_with(DEPARTURES));

    // A third connection replaces the second one, even if that is still open.
    let mut third = Phone::connect(&twilio, "CA1").await;
    assert!(!third.hears().await.contains("Good morning"));
    phone.is_closed().await;

    process.terminate();
    let (reason, text) = logged(directory.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("drain"));
    assert_eq!(text.matches("Good morning, Pellam").count(), 1, "{text}");
}

#[tokio::test]
async fn draining_program_refuses_new_calls_and_lets_live_ones_end() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start(directory.path(), &["--drain-s", "1000"]);
    let twilio = Twilio::of(&process);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    assert_eq!(phone.hears().await, GREETING);
    let process = process.begin_terminate();
    let refused = async { while twilio.status("/voice", &[("CallSid", "CA2")]).await != 503 {} };
    tokio::time::timeout(process::HANGS, refused).await.unwrap();

    // This session has no events of speakers and tokens.
    phone.sends(json!({"type": "prompt", "voicePrompt": "When does it leave?", "lang": "en-US", "last": true})).await;
    assert!(phone.hears().await.ends_with(DEPARTURES));
    let parameters = [("CallSid", "CA1"), ("CallStatus", "completed"), ("SessionStatus", "completed")];
    twilio.post("/after?reconnects=0", &parameters).await;
    process.ended();
    let (reason, text) = logged(directory.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("hangup"));
    // The caller's words ended the greeting.
    assert!(!text.contains("heard={'Good morning"), "{text}");
}

#[tokio::test]
async fn killed_program_continues_its_calls_and_books_once() {
    let directory = tempfile::tempdir().unwrap();
    let bookings = || {
        let names = std::fs::read_dir(directory.path().join("bookings")).unwrap();
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).filter(|name| !name.starts_with('.')).count()
    };
    // The service books, and then does not answer.
    let process = Process::start(directory.path(), &["--service-ms", "100000000"]);
    let twilio = Twilio::of(&process);
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let greeting = phone.hears().await;
    phone.plays(&[&greeting]).await;
    phone.says(&format!("This is {SECRET}, please book it.")).await;
    assert_eq!(phone.sentence().await, "I am booking it now. ");
    process::until(|| bookings() == 1).await;
    process.kill();

    let process = Process::start(directory.path(), &["--service-ms", "0"]);
    let twilio = Twilio::of(&process);
    let failed = [("CallSid", "CA1"), ("CallStatus", "in-progress"), ("SessionStatus", "failed")];
    assert!(twilio.post("/after?reconnects=0", &failed).await.contains("<ConversationRelay"));
    let mut phone = Phone::connect(&twilio, "CA1").await;
    let mut heard = phone.hears().await;
    // The result is found in the background: before the model is asked, or after its first answer.
    while !heard.contains("is booked under") {
        phone.plays(&[&heard]).await;
        heard = phone.hears().await;
    }
    assert!(heard.contains("The place on Saturday at ten thirty is booked under"), "{heard}");
    phone.plays(&[&heard]).await;
    // The caller has heard the result before the program stops.
    phone.is_up_to_date().await;
    assert_eq!(bookings(), 1);

    // The program gets SIGTERM while the caller is on the line, and another one continues the call.
    let printed = process.begin_terminate();
    phone.is_told_the_end("handed over").await;
    let printed = printed.ended();
    assert!(!printed.contains(SECRET), "{printed}");
    let (reason, _) = logged(directory.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("drain"));

    let process = Process::start(directory.path(), &["--service-ms", "0"]);
    let twilio = Twilio::of(&process);
    let handed_over = [
        ("CallSid", "CA1"),
        ("CallStatus", "in-progress"),
        ("SessionStatus", "ended"),
        ("HandoffData", r#"{"reason":"handed over"}"#),
    ];
    assert!(twilio.post("/after?reconnects=1", &handed_over).await.contains("/after?reconnects=2"));
    let mut phone = Phone::connect(&twilio, "CA1").await;
    assert_eq!(phone.hears().await, "I am sorry, the line was interrupted. Please go on.");
    phone.says("Goodbye.").await;
    assert_eq!(phone.hears().await, "Thank you for your call. Goodbye.");
    let parameters = [("CallSid", "CA1"), ("CallStatus", "completed"), ("SessionStatus", "completed")];
    twilio.post("/after?reconnects=2", &parameters).await;
    process.terminate();
    let (reason, text) = logged(directory.path(), "CA1").await;
    assert_eq!(reason.as_deref(), Some("hangup"));
    assert!(text.contains(SECRET) && text.contains("is booked under") && text.contains("Goodbye."), "{text}");
    assert_eq!((text.matches("Good morning, Pellam").count(), bookings()), (1, 1), "{text}");
}
