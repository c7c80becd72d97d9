//! Runs the code of the pages in `docs/`. Each file beside this one equals a code block of a page.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use aws_sdk_bedrockruntime::Client;
use verbale::bedrock::{BedrockModel, BedrockSettings};
use verbale::call::{CallBuilder, CallSession, Effect};
use verbale::testing::FakeBedrock;
use verbale::{MessageWrapper, Role};

const PIECES: [(&str, &str); 3] = [
    (include_str!("../../docs/twilio.md"), include_str!("media_streams.rs")),
    (include_str!("../../docs/livekit.md"), include_str!("livekit.rs")),
    (include_str!("../../docs/amazon-connect.md"), include_str!("amazon_connect.rs")),
];

#[test]
fn pages_contain_the_tested_code() {
    for (page, code) in PIECES {
        assert!(page.contains(&format!("```rust\n{code}```")), "copy this into its page:\n{code}");
    }
    assert_eq!(PIECES.map(|(page, _)| page.matches("```rust").count()), [1, 1, 1]);
}

/// A call whose model says `Yes, I am here.`
fn call() -> CallSession {
    let client = Client::from_conf(FakeBedrock::default().sdk_config().build());
    CallBuilder::new(BedrockModel::for_turns(client, BedrockSettings::new("a.model"))).open().unwrap()
}

/// Returns the heard text of the assistant's last message if it was interrupted.
fn heard(call: &CallSession) -> Option<String> {
    call.conversation().read(|manager| {
        let last = manager.meta_messages().iter().rfind(|message| message.role() == Role::Assistant)?.message();
        last.heard()?;
        Some(last.heard_contents().texts().map(|text| text.as_str()).collect())
    })
}

/// Returns the reason why an event changed nothing.
fn why_ignored(effect: Effect) -> String {
    effect.to_string()
}

mod media_streams {
    include!("media_streams.rs");

    use super::{call, heard, why_ignored};

    fn playing(speech: SpeechId, pieces: [&str; 2], is_complete: bool) -> Option<Playing> {
        Some(Playing { speech, pieces: pieces.map(str::to_owned).into(), played: 0, is_complete })
    }

    fn back(speech: SpeechId, piece: usize) -> Value {
        json!({"event": "mark", "streamSid": "MZ1", "mark": {"name": mark(speech, piece)}})
    }

    #[tokio::test]
    async fn marks_after_clear_do_not_count_as_played() {
        let call = call();
        let speech = call.say("One two. Three four.").unwrap();
        let mut now = playing(speech, ["One two. ", "Three four."], true);
        on_mark(&call, &mut now, &back(speech, 0));
        assert_eq!(on_speech(&call, &mut now, "MZ1"), Some(json!({"event": "clear", "streamSid": "MZ1"})));
        assert_eq!(heard(&call).as_deref(), Some("One two."));
        on_mark(&call, &mut now, &back(speech, 1));
        assert_eq!(
            why_ignored(call.playback_finished(speech, call.now_ms())),
            "an earlier report about the speech is final or more exact"
        );
        assert_eq!(heard(&call).as_deref(), Some("One two."));
        assert_eq!(on_speech(&call, &mut now, "MZ1"), None);

        // They do not count for the next speech either.
        let next = call.say("Five. Six.").unwrap();
        let mut now = playing(next, ["Five. ", "Six."], true);
        on_mark(&call, &mut now, &back(speech, 0));
        assert_eq!(now.unwrap().played, 0);
    }

    #[tokio::test]
    async fn last_mark_may_precede_or_follow_the_end_of_the_reply() {
        for is_complete in [true, false] {
            let call = call();
            let speech = call.say("Five. Six.").unwrap();
            let mut now = playing(speech, ["Five. ", "Six."], is_complete);
            on_mark(&call, &mut now, &back(speech, 0));
            on_mark(&call, &mut now, &back(speech, 1));
            assert_eq!(now.is_none(), is_complete);
            on_end_of_reply(&call, &mut now);
            assert!(now.is_none());
            assert_eq!(why_ignored(call.playback_finished(speech, call.now_ms())), "the event was reported before");
        }
    }
}

mod livekit {
    include!("livekit.rs");

    use serde_json::json;

    use super::{call, heard};

    fn played(segments: [Value; 2]) -> Option<String> {
        let call = call();
        let speech = call.say("One two. Three four.").unwrap();
        let mut playing = Playing { speech, words: String::new(), played_s: 0.0 };
        let [first, second] = segments;
        for event in [
            json!({"type": "playback_started", "created_at": 1_795_334_914.993}),
            first,
            json!({"type": "user_state_changed", "old_state": "listening", "new_state": "speaking"}),
            second,
            json!({"type": "speech_done"}),
            json!({"type": "user_input_transcribed", "transcript": "St", "is_final": false}),
            json!({"type": "user_input_transcribed", "transcript": "Stop", "is_final": true}),
        ] {
            on_event(&call, &mut playing, &event).unwrap();
        }
        assert!(call.is_answerable());
        heard(&call)
    }

    #[tokio::test]
    async fn segments_of_a_speech_add_up() {
        let segment = |words: Option<&str>, s: f64, interrupted: bool| {
            json!({"type": "playback_finished", "playback_position": s, "interrupted": interrupted,
                "synchronized_transcript": words})
        };
        let with_words = [segment(Some("One two. "), 0.6, false), segment(Some("Three"), 0.3, true)];
        assert_eq!(played(with_words).as_deref(), Some("One two. Three"));
        // Without words, the rate is 15 bytes a second.
        assert_eq!(played([segment(None, 0.3, false), segment(None, 0.4, true)]).as_deref(), Some("One two."));
    }
}

mod amazon_connect {
    include!("amazon_connect.rs");

    use super::call;

    #[tokio::test]
    async fn turn_is_answered_as_a_whole() {
        let call = call();
        let heard = json!([{"transcription": "Are you there?", "transcriptionConfidence": 0.75}]);
        let event =
            json!({"toolCallSource": "DialogCodeHook", "inputTranscript": "Are you there?", "transcriptions": heard});
        let answer = json!({
            "sessionState": {"dialogAction": {"type": "ElicitIntent"}},
            "messages": [{"contentType": "PlainText", "content": "Yes, I am here."}],
        });
        assert_eq!(on_turn(&call, &event).await.unwrap(), answer);
        assert!(call.conversation().read(|manager| manager.to_string().contains("confidence=0.75")));
    }
}
