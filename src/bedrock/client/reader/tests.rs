//! Events of Bedrock become events of the model.

use aws_sdk_bedrockruntime::types::{
    ContentBlockDeltaEvent, ContentBlockStartEvent, ContentBlockStopEvent, ConversationRole,
    ConverseStreamMetadataEvent, Message, MessageStartEvent, MessageStopEvent, ReasoningContentBlock,
    ReasoningContentBlockDelta, ReasoningTextBlock, ToolUseBlock, ToolUseBlockDelta,
};
use serde_json::json;

use super::*;
use crate::bedrock::to_document;

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

#[test]
fn malformed_call_is_an_error_without_its_arguments() {
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    for (events, why) in [
        (
            vec![call(1, "a"), input(1, "{\"pin\": 4711,}"), end(1)],
            "a tool call: arguments of 14 bytes are not JSON: error at line 1, column 14",
        ),
        (vec![call(1, "a"), input(1, &deep), end(1)], "a tool call: lists and maps nest at most 32 deep"),
        (vec![call(1, "my pin"), end(1)], "a tool call: "),
        (vec![call(1, "a"), input(1, "{")], "a tool call without an end"),
        (vec![input(1, "{")], "arguments without a tool call"),
    ] {
        let failure = read(events.into_iter().chain([stop("tool_use")])).unwrap_err();
        let Failure::Malformed(shown) = &failure else { panic!("{failure:?}") };
        assert!(shown.starts_with(why) && !shown.contains("4711") && !shown.contains("my pin"), "{shown}");
    }
}

#[test]
fn call_is_dropped_when_the_answer_ends_within_it() {
    for events in [vec![call(1, "a"), input(1, "{\"id\""), end(1)], vec![call(1, "a"), input(1, "{\"id\"")]] {
        let (read, received) = read(events.into_iter().chain([stop("max_tokens")])).unwrap();
        assert_eq!(read, [ModelEvent::Stop(StopReason::MaxTokens)]);
        assert_eq!(received.tool_calls, 0);
    }
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
    let failure = reader.read_whole(whole(vec![text, call("my pin")], "tool_use")).unwrap_err();
    assert!(matches!(failure, Failure::Malformed(_)));
    assert_eq!(reader.received(), Partial::default());
    let nothing = ConverseOutput::builder().stop_reason(types::StopReason::EndTurn).build().unwrap();
    assert!(matches!(AnswerReader::default().read_whole(nothing), Err(Failure::Malformed(_))));
}
