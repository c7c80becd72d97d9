//! Calls with a typed caller and a fake Bedrock on a socket, through the same client as for AWS.

use std::future::pending;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_bedrockruntime::config::{Credentials, SharedCredentialsProvider};
use tokio::sync::mpsc::unbounded_channel;
use verbale::testing::{FakeBedrock, FakeBedrockServer, ScriptedReply};

use crate::caller::{Act, Caller, Scripted, Typed};
use crate::error::{CallError, on_one_line};
use crate::log::Log;
use crate::models::Models;
use crate::pace::Pace;
use crate::play::play;
use crate::screen::Screen;

const MODEL: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";

#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shown {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn environment(server: &FakeBedrockServer) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .endpoint_url(server.endpoint_url())
        .credentials_provider(SharedCredentialsProvider::new(Credentials::for_tests()))
        // Ignores the proxies of the environment.
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build()
}

/// Plays a call whose caller types these lines immediately and then listens.
async fn typed(bedrock: &FakeBedrock, lines: &[&str]) -> (Result<(), CallError>, String) {
    let server = bedrock.serve().await.unwrap();
    let models = Models::at_aws(&environment(&server), MODEL).await.unwrap();
    let (sender, received) = unbounded_channel();
    lines.iter().for_each(|line| sender.send((*line).to_owned()).unwrap());
    drop(sender);
    let (pace, shown) = (Pace::starting_now(100), Shown::default());
    let screen = Arc::new(Screen::new(pace.clone(), shown.clone()));
    let log = Log::open(&pace, None, None).await.unwrap();
    let played = play(models, Typed::new(received), log, screen, pace, pending()).await;
    (played, shown.text())
}

#[tokio::test]
async fn typed_call_works_through_a_socket() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("I look. ").tool_call(
        "call_1",
        "balance",
        serde_json::json!({"account": "current"}),
    ));
    bedrock.reply(ScriptedReply::text("It holds one thousand two hundred and forty euros."));
    let (played, shown) = typed(&bedrock, &["How much is \u{1b}[2J there?\u{202e}"]).await;
    played.unwrap();
    for line in [
        // The line was typed before the greeting began.
        "-- the caller breaks in; 0 words were heard",
        r"caller     How much is \u{1b}[2J there?\u{202e}",
        r#"-- the model calls the tool balance: {"account":"current"}"#,
        "-- the tool finished: Succeeded",
        "assistant  It holds one thousand two hundred and forty euros.",
        "header        ended by hangup",
        "equal to the conversation: yes",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{shown}");
    let counters = bedrock.counters();
    assert_eq!((counters.requests, counters.refused, counters.cancelled), (2, 0, 0));
    assert!(counters.connections >= 1);
}

#[tokio::test]
async fn empty_line_hangs_up_immediately() {
    let bedrock = FakeBedrock::default();
    let (played, shown) = typed(&bedrock, &["", "nobody hears this"]).await;
    played.unwrap();
    assert!(shown.contains("-- the caller hangs up") && !shown.contains("nobody hears this"), "{shown}");
    assert!(shown.contains("turns 0, barge-ins 0"), "{shown}");
    assert_eq!(bedrock.counters().requests, 0);
}

#[tokio::test]
async fn final_model_failure_is_reported_on_one_line() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::refused("AccessDeniedException"));
    let (played, _) = typed(&bedrock, &["Hello"]).await;
    let line = on_one_line(&played.unwrap_err());
    let expected = "the model did not reply: the model cannot be used; check credentials, access and model id: ";
    assert!(line.starts_with(expected) && line.contains("AccessDeniedException") && !line.contains('\n'), "{line}");
}

#[tokio::test]
async fn transient_failure_leads_to_apology_and_call_continues() {
    let bedrock = FakeBedrock::answering(|_| ScriptedReply::refused("ThrottlingException"));
    let (played, shown) = typed(&bedrock, &["Hello"]).await;
    played.unwrap();
    assert!(shown.contains("assistant  I am sorry, something went wrong."), "{shown}");
    // The last attempt may be cut off by the deadline, after others were refused.
    assert!(shown.contains("-- the model did not reply: "), "{shown}");
    assert!(shown.contains("failed: throttled"), "{shown}");
}

#[tokio::test]
async fn missing_aws_settings_are_reported_before_the_call() {
    let region = Region::new("eu-central-1");
    for (environment, expected) in [
        (SdkConfig::builder().build(), "no AWS region is set; set AWS_REGION"),
        (
            SdkConfig::builder().region(region).build(),
            "no AWS credentials are set; sign in with `aws sso login`, or set",
        ),
    ] {
        let line = on_one_line(&Models::at_aws(&environment, MODEL).await.err().unwrap());
        assert!(line.starts_with(expected) && !line.contains('\n'), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn scripted_caller_breaks_in_once() {
    let mut caller = Scripted::new(Pace::starting_now(1));
    for _ in 0..3 {
        assert!(matches!(caller.speaks().await, Act::Says { .. }));
    }
    tokio::select! {
        biased;
        act = caller.breaks_in(17) => panic!("too early: {act:?}"),
        () = std::future::ready(()) => {}
    }
    let Act::Says { words, .. } = caller.breaks_in(18).await else { panic!("hung up") };
    assert!(words.starts_with("Stop, the ferry"));
}
