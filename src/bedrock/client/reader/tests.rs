//! Events of Bedrock become events of the model.

use aws_sdk_bedrockruntime::types::{
    ContentBlockDeltaEvent, ContentBlockStartEvent, ContentBlockStopEvent, ConversationRole,
    ConverseStreamMetadataEvent, Message, MessageStartEvent, MessageStopEvent, ReasoningContentBlock,
    ReasoningContentBlockDelta, ReasoningTextBlock, ToolUseBlock, ToolUseBlockDelta,
};
use serde_json::json;

use super::*;
use crate::bedrock::document::to_document;

fn start() -> Event {
    Event::MessageStart(MessageStartEvent::builder().role(ConversationRole::Assistant).build().unwrap())
}

fn text(text: &str) -> Event {
    delta(0, ContentBlockDelta::Text(text.to_owned()))
}

fn delta(index: i32, delta: ContentBlockDelta) -> Event {
    Event::ContentBlockDelta(ContentBlockDeltaEvent::builder().content_block_index(index).delta(delta).build().unwrap())
}

fn call(index: i32, id: &str) -> Event {
    let start = ToolUseBlockStart::builder().tool_use_id(id).name("get_user").build().unwrap();
    let start = ContentBlockStart::ToolUse(start);
    Event::ContentBlockStart(ContentBlockStartEvent::builder().content_block_index(index).start(start).build().unwrap())
}

fn input(index: i32, json: &str) -> Event {
    delta(index, ContentBlockDelta::ToolUse(ToolUseBlockDelta::builder().input(json).build().unwrap()))
}

fn end(index: i32) -> Event {
    Event::ContentBlockStop(ContentBlockStopEvent::builder().content_block_index(index).build().unwrap())
}

fn stop(reason: &str) -> Event {
    Event::MessageStop(MessageStopEvent::builder().stop_reason(reason.into()).build().unwrap())
}

fn tokens() -> TokenUsage {
    let tokens = TokenUsage::builder().input_tokens(7).output_tokens(5).total_tokens(142);
    tokens.cache_read_input_tokens(100).cache_write_input_tokens(30).build().unwrap()
}

fn read(events: impl IntoIterator<Item = Event>) -> Result<(Vec<ModelEvent>, Partial), Failure> {
    let mut reader = AnswerReader::default();
    let mut read = Vec::new();
    for event in events {
        read.extend(reader.read(event)?);
    }
    Ok((read, reader.received()))
}

fn tool_call(id: &str, arguments: serde_json::Value) -> ModelEvent {
    ModelEvent::ToolCall(ToolCall::new(id, "get_user", Value::try_from(arguments).unwrap()).unwrap())
}

fn all_tokens() -> ModelEvent {
    ModelEvent::Usage(Usage { input_tokens: 137, cache_read_tokens: 100, cache_write_tokens: 30, output_tokens: 5 })
}

#[test]
fn reasoning_is_dropped_from_the_events() {
    let thought = ContentBlockDelta::ReasoningContent(ReasoningContentBlockDelta::Text("a secret".to_owned()));
    let metadata = ConverseStreamMetadataEvent::builder().usage(tokens()).build();
    let (events, received) = read([
        start(),
        delta(0, thought),
        text("One "),
        text(""),
        text("moment."),
        end(0),
        call(1, "a"),
        call(2, "b"),
        input(1, "{\"id\""),
        input(1, ": 7}"),
        end(2),
        end(1),
        stop("tool_use"),
        Event::Metadata(metadata),
    ])
    .unwrap();
    let expected = [
        ModelEvent::Text("One ".into()),
        ModelEvent::Text("moment.".into()),
        tool_call("b", json!({})),
        tool_call("a", json!({"id": 7})),
        ModelEvent::Stop(StopReason::ToolUse),
        all_tokens(),
    ];
    assert_eq!(events, expected);
    assert_eq!(received, Partial { text_bytes: 11, tool_calls: 2 });
}

#[test]
fn stop_reasons_are_mapped() {
    for (reason, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("stop_sequence", StopReason::StopSequence),
        ("guardrail_intervened", StopReason::Filtered),
        ("content_filtered", StopReason::Filtered),
        ("model_context_window_exceeded", StopReason::ContextFull),
        ("tired", StopReason::Other("tired".into())),
    ] {
        assert_eq!(read([stop(reason)]).unwrap().0, [ModelEvent::Stop(expected)]);
    }
    for reason in ["malformed_tool_use", "malformed_model_output"] {
        let failure = Failure::Malformed(format!("the model stopped with `{reason}`"));
        assert_eq!(read([stop(reason)]).unwrap_err(), failure);
    }
}

fn id(id: &str) -> ToolCallId {
    ToolCallId::new(id).unwrap()
}

fn name() -> ToolName {
    ToolName::new("get_user").unwrap()
}

#[test]
fn unreadable_call_is_reported_before_the_stop_without_its_arguments() {
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    for (events, why) in [
        (
            vec![call(1, "a"), input(1, "{\"pin\": 4711,}"), end(1)],
            "arguments of 14 bytes are not JSON: error at line 1, column 14",
        ),
        (vec![call(1, "a"), input(1, &deep), end(1)], "lists and maps nest at most 32 deep"),
        (vec![call(1, "a"), input(1, "{")], "the call has no end"),
    ] {
        let sound = [call(0, "b"), end(0)];
        let (events, received) = read(sound.into_iter().chain(events).chain([stop("tool_use")])).unwrap();
        let [sound, ModelEvent::UnreadableToolCall { id: of, name: tool, reason: Some(reason) }, stop] = &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((sound, of, tool), (&tool_call("b", json!({})), &id("a"), &name()));
        assert_eq!(stop, &ModelEvent::Stop(StopReason::ToolUse));
        assert!(reason.starts_with(why) && !reason.contains("4711"), "{}", reason.as_str());
        assert_eq!(received.tool_calls, 1);
    }
    let failure = read([input(1, "{")]).unwrap_err();
    assert_eq!(failure, Failure::Malformed("arguments without a tool call".to_owned()));
}

#[test]
fn call_that_the_answer_cuts_off_is_told_apart_from_one_without_arguments() {
    let cut = |reason: StopReason| {
        [ModelEvent::UnreadableToolCall { id: id("a"), name: name(), reason: None }, ModelEvent::Stop(reason)]
    };
    for events in [
        vec![call(1, "a"), input(1, "{\"id\""), end(1)],
        vec![call(1, "a"), input(1, "{\"id\"")],
        vec![call(1, "a"), end(1)],
        vec![call(1, "a")],
    ] {
        let (events, received) = read(events.into_iter().chain([stop("max_tokens")])).unwrap();
        assert_eq!(events, cut(StopReason::MaxTokens));
        assert_eq!(received.tool_calls, 0);
    }
    // Later contents, or complete arguments, show that the call is complete.
    let (events, _) = read([call(1, "a"), end(1), text("So"), stop("max_tokens")]).unwrap();
    let stop_event = ModelEvent::Stop(StopReason::MaxTokens);
    assert_eq!(events, [tool_call("a", json!({})), ModelEvent::Text("So".into()), stop_event.clone()]);
    let (events, _) = read([call(1, "a"), input(1, "{\"id\": 7}"), end(1), stop("max_tokens")]).unwrap();
    assert_eq!(events, [tool_call("a", json!({"id": 7})), stop_event]);

    let empty = ToolUseBlock::builder().tool_use_id("a").name("get_user").input(Document::Object([].into()));
    let empty = ContentBlock::ToolUse(empty.build().unwrap());
    let read_whole = |reason| AnswerReader::default().read_whole(whole(vec![empty.clone()], reason)).unwrap();
    assert_eq!(read_whole("max_tokens")[..2], cut(StopReason::MaxTokens));
    assert_eq!(read_whole("tool_use")[0], tool_call("a", json!({})));
}

#[test]
fn any_id_and_name_of_the_model_is_taken() {
    let (events, _) = read([call(0, "functions.balance:0"), end(0), stop("tool_use")]).unwrap();
    assert_eq!(events[0], tool_call("functions.balance:0", json!({})));

    let renamed = |events: Vec<ModelEvent>| match &events[0] {
        ModelEvent::ToolCall(call) => (call.id().clone(), call.name().clone()),
        other => panic!("{other:?}"),
    };
    let of = |id: &str| renamed(read([call(0, id), end(0), stop("tool_use")]).unwrap().0);
    assert_eq!(of("my pin"), of("my pin"));
    assert_ne!(of("my pin"), of("my_pin"));
    let start = ToolUseBlockStart::builder().tool_use_id("a").name("browser.navigate").build().unwrap();
    let start = ContentBlockStart::ToolUse(start);
    let start = ContentBlockStartEvent::builder().content_block_index(0).start(start).build().unwrap();
    let (_, tool) = renamed(read([Event::ContentBlockStart(start), end(0), stop("tool_use")]).unwrap().0);
    assert!(tool.as_str().starts_with("browser_navigate-"), "{tool}");
}

fn whole(content: Vec<ContentBlock>, reason: &str) -> ConverseOutput {
    let message = Message::builder().role(ConversationRole::Assistant).set_content(Some(content)).build().unwrap();
    let output = ConverseOutput::builder().output(types::ConverseOutput::Message(message));
    output.stop_reason(reason.into()).usage(tokens()).build().unwrap()
}

#[test]
fn answer_in_one_piece_has_the_same_events() {
    let thought = ReasoningTextBlock::builder().text("a secret").build().unwrap();
    let arguments = to_document(&Value::try_from(json!({"id": 7})).unwrap());
    let call = |id: &str| {
        let call = ToolUseBlock::builder().tool_use_id(id).name("get_user").input(arguments.clone());
        ContentBlock::ToolUse(call.build().unwrap())
    };
    let thought = ContentBlock::ReasoningContent(ReasoningContentBlock::ReasoningText(thought));
    let mut reader = AnswerReader::default();
    let text = ContentBlock::Text("One moment.".to_owned());
    let events = reader.read_whole(whole(vec![thought, text.clone(), call("a")], "tool_use")).unwrap();
    let expected = [
        ModelEvent::Text("One moment.".into()),
        tool_call("a", json!({"id": 7})),
        ModelEvent::Stop(StopReason::ToolUse),
        all_tokens(),
    ];
    assert_eq!(events, expected);
    assert_eq!(reader.received(), Partial { text_bytes: 11, tool_calls: 1 });

    let mut reader = AnswerReader::default();
    let failure = reader.read_whole(whole(vec![text, call("a")], "malformed_tool_use")).unwrap_err();
    assert!(matches!(failure, Failure::Malformed(_)));
    assert_eq!(reader.received(), Partial::default());
    let nothing = ConverseOutput::builder().stop_reason(types::StopReason::EndTurn).build().unwrap();
    assert!(matches!(AnswerReader::default().read_whole(nothing), Err(Failure::Malformed(_))));
}
