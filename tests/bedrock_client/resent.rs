//! A request that Bedrock refuses is sent once more in another form, so that no call stays bricked.

use verbale::bedrock::BedrockSettings;
use verbale::model::{Failure, ModelEvent, ModelRequest, StopReason};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{MessagesManager, PlainMessage, ToolCall};

use super::{CLAUDE, ask, claude, fail, for_summaries, question, tool, window};

/// A conversation with a tool call and its result.
fn after_a_tool() -> ModelRequest {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("My pin is 4711, when does it arrive?").unwrap();
    let call = ToolCall::new("call_1", "get_parcel", serde_json::json!({"pin": 4711})).unwrap();
    manager.add_assistant(call.clone()).unwrap();
    manager.add_user(call.success("On Friday.")).unwrap();
    let mut request = window(&manager);
    request.tools = [tool("get_parcel")].into();
    request
}

fn repairs(events: &[ModelEvent]) -> Vec<String> {
    let repaired = events.iter().filter_map(|event| match event {
        ModelEvent::Repaired(repairs) => Some(repairs),
        _ => None,
    });
    repaired.flatten().map(ToString::to_string).collect()
}

#[tokio::test]
async fn unexplained_refusal_is_answered_with_tools_as_texts() {
    for (message, keeps_tools, report) in [
        (
            "messages.1.content.0: surprising 4711",
            true,
            "request: sent its tool calls and results as texts, because Bedrock refused it: messages.1.content.0: \
             surprising …",
        ),
        (
            "toolConfig.tools.0 is a surprise",
            false,
            "request: sent its tool calls and results as texts, and no tools, because Bedrock refused it: \
             toolconfig.tools.0 is a surprise",
        ),
    ] {
        let bedrock = FakeBedrock::default();
        for model in [claude(&bedrock), for_summaries(&bedrock, BedrockSettings::new(CLAUDE))] {
            bedrock.reply(ScriptedReply::validation(message));
            bedrock.reply(ScriptedReply::text("On Friday."));
            let events = ask(&model, after_a_tool()).await.unwrap();
            assert_eq!(repairs(&events), [report]);
            assert!(events.contains(&ModelEvent::Stop(StopReason::EndTurn)));

            let requests = bedrock.take_requests();
            let [first, second] = &requests[..] else { panic!("{requests:?}") };
            let count = |request: &verbale::testing::ReceivedRequest, part: &str| {
                String::from_utf8_lossy(request.body()).matches(part).count()
            };
            assert_eq!((count(first, "toolUse\""), count(first, "toolResult\"")), (1, 1));
            assert_eq!((count(second, "\"toolUse\""), count(second, "\"toolResult\"")), (0, 0));
            assert_eq!((count(second, "[tool call: "), count(second, "[tool result: ")), (1, 1));
            assert_eq!(second.input().tool_config().is_some(), keeps_tools);
        }
        assert_eq!(bedrock.counters().refused, 0);
    }
}

#[tokio::test]
async fn refusal_at_the_start_of_the_stream_is_answered_too() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("x").exception_after(0, "ValidationException"));
    bedrock.reply(ScriptedReply::text("On Friday."));
    let model = claude(&bedrock);
    let events = ask(&model, after_a_tool()).await.unwrap();
    assert_eq!((repairs(&events).len(), bedrock.counters().requests), (1, 2));

    // Not after the model has begun to speak.
    bedrock.reply(ScriptedReply::text("On").exception_after(2, "ValidationException"));
    let (events, error) = ask(&model, after_a_tool()).await.unwrap_err();
    assert!(matches!(error.kind(), Failure::Refused(_)) && super::received(&error).0 == 2, "{error}");
    assert_eq!((repairs(&events).len(), bedrock.counters().requests), (0, 3));
}

#[tokio::test]
async fn known_refusals_have_their_own_remedies() {
    let bedrock = FakeBedrock::default();
    let model = claude(&bedrock);
    bedrock.reply(ScriptedReply::validation("This model doesn't support tool use in streaming mode."));
    bedrock.reply(ScriptedReply::text("On Friday."));
    ask(&model, after_a_tool()).await.unwrap();
    let streamed: Vec<_> = bedrock.take_requests().iter().map(|request| request.is_streaming()).collect();
    assert_eq!(streamed, [true, false]);

    bedrock.reply(ScriptedReply::validation(
        "You invoked an unsupported model or your request did not allow prompt caching. See the documentation.",
    ));
    bedrock.reply(ScriptedReply::text("On Friday."));
    ask(&model, after_a_tool()).await.unwrap();
    let points: Vec<_> = bedrock
        .take_requests()
        .iter()
        .map(|request| String::from_utf8_lossy(request.body()).matches("cachePoint").count())
        .collect();
    assert!(points[0] > 0 && points[1] == 0, "{points:?}");
    assert_eq!(bedrock.counters().requests, 4);
}

#[tokio::test]
async fn request_is_sent_twice_at_most_and_only_if_its_form_changes() {
    let bedrock = FakeBedrock::answering(|_| ScriptedReply::validation("a surprise"));
    let model = claude(&bedrock);
    let (failure, _) = fail(&model, after_a_tool()).await;
    assert!(matches!(failure, Failure::Refused(_)));
    assert_eq!(bedrock.counters().requests, 2);

    assert!(matches!(fail(&model, question()).await.0, Failure::Refused(_)));
    assert_eq!(bedrock.counters().requests, 3);

    let long = FakeBedrock::answering(|_| ScriptedReply::validation("Input is too long for requested model."));
    assert!(matches!(fail(&claude(&long), after_a_tool()).await.0, Failure::Refused(_)));
    let denied = FakeBedrock::answering(|_| ScriptedReply::refused("AccessDeniedException"));
    assert!(matches!(fail(&claude(&denied), after_a_tool()).await.0, Failure::Denied(_)));
    assert_eq!((long.counters().requests, denied.counters().requests), (1, 1));
}
