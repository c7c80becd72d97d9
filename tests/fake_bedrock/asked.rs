//! Requests as a service sends them, and their answers as texts.

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::error::SdkError;
use aws_sdk_bedrockruntime::operation::converse::ConverseOutput;
use aws_sdk_bedrockruntime::operation::converse::builders::ConverseFluentBuilder;
use aws_sdk_bedrockruntime::operation::converse_stream::ConverseStreamError;
use aws_sdk_bedrockruntime::operation::converse_stream::builders::ConverseStreamFluentBuilder;
use aws_sdk_bedrockruntime::primitives::event_stream::EventReceiver;
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, ContentBlockDelta, ContentBlockStart, ConversationRole, ConverseStreamOutput, Message,
};

pub const MODEL: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";

pub type Events = EventReceiver<ConverseStreamOutput, ConverseStreamOutputError>;

pub fn said(role: ConversationRole, text: &str) -> Message {
    Message::builder().role(role).content(ContentBlock::Text(text.into())).build().unwrap()
}

pub fn streaming(client: &Client) -> ConverseStreamFluentBuilder {
    client.converse_stream().model_id(MODEL).messages(said(ConversationRole::User, "Hi"))
}

pub fn whole(client: &Client) -> ConverseFluentBuilder {
    client.converse().model_id(MODEL).messages(said(ConversationRole::User, "Hi"))
}

pub async fn stream(client: &Client) -> Result<Events, SdkError<ConverseStreamError>> {
    Ok(streaming(client).send().await?.stream)
}

/// Returns the events to the end of the stream as one line each, and the error at its end, if any.
pub async fn rest(mut events: Events) -> (Vec<String>, Option<SdkError<ConverseStreamOutputError, RawMessage>>) {
    let mut lines = Vec::new();
    loop {
        match events.recv().await {
            Ok(Some(event)) => lines.push(line(&event)),
            Ok(None) => return (lines, None),
            Err(error) => return (lines, Some(error)),
        }
    }
}

/// Returns the events of a stream without an error.
pub async fn complete(events: Events) -> Vec<String> {
    let (lines, error) = rest(events).await;
    assert!(error.is_none(), "{error:?}");
    lines
}

pub type RawMessage = aws_smithy_types::event_stream::RawMessage;

pub fn line(event: &ConverseStreamOutput) -> String {
    match event {
        ConverseStreamOutput::MessageStart(start) => format!("start {}", start.role.as_str()),
        ConverseStreamOutput::ContentBlockStart(start) => match &start.start {
            Some(ContentBlockStart::ToolUse(call)) => {
                format!("{} tool {} {}", start.content_block_index, call.tool_use_id, call.name)
            }
            _ => "?".to_owned(),
        },
        ConverseStreamOutput::ContentBlockDelta(delta) => match &delta.delta {
            Some(ContentBlockDelta::Text(text)) => format!("{} text {text:?}", delta.content_block_index),
            Some(ContentBlockDelta::ToolUse(call)) => format!("{} input {:?}", delta.content_block_index, call.input),
            _ => "?".to_owned(),
        },
        ConverseStreamOutput::ContentBlockStop(stop) => format!("{} stop", stop.content_block_index),
        ConverseStreamOutput::MessageStop(stop) => format!("stop {}", stop.stop_reason.as_str()),
        ConverseStreamOutput::Metadata(metadata) => {
            let (usage, metrics) = (metadata.usage.as_ref().unwrap(), metadata.metrics.as_ref().unwrap());
            format!(
                "usage {} {} {} {:?} {:?}, {} ms",
                usage.input_tokens,
                usage.output_tokens,
                usage.total_tokens,
                usage.cache_read_input_tokens,
                usage.cache_write_input_tokens,
                metrics.latency_ms
            )
        }
        _ => "?".to_owned(),
    }
}

/// Returns the contents of an answer in one piece.
pub fn contents(output: &ConverseOutput) -> &[ContentBlock] {
    &output.output.as_ref().unwrap().as_message().unwrap().content
}
