//! [`ScriptedReply`]: what a stand-in answers, and what goes wrong while it does.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_bedrockruntime::types::StopReason;
use serde_json::Value as Json;

use super::exception::BedrockException;

/// One answer: contents, tokens, its pace, and at most one fault.
///
/// The same reply serves both operations. `Converse` answers in one piece when the last event of a stream would have
/// come; what happens inside a stream happens there to that one answer.
///
/// The events of a stream count from 0: `messageStart`; for each text a `contentBlockDelta` a piece and a
/// `contentBlockStop`; for each tool call a `contentBlockStart`, a `contentBlockDelta` a piece of its input, of which
/// the first is empty as Bedrock's is, and a `contentBlockStop`; `messageStop`; `metadata`.
///
/// ```
/// use std::time::Duration;
/// use verbale::testing::{BedrockException, ScriptedReply};
///
/// let slow = ScriptedReply::text("One moment, I look it up.")
///     .tool_call("call_1", "get_booking", serde_json::json!({"id": "KL305T"}))
///     .usage(812, 31)
///     .first_token_after(Duration::from_millis(700))
///     .between_events(Duration::from_millis(30));
/// let breaks_off = ScriptedReply::text("One moment").exception_after(2, BedrockException::ModelStreamError);
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct ScriptedReply {
    pub(super) refusal: Option<Refusal>,
    pub(super) blocks: Vec<Block>,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Option<(u32, u32)>,
    pub(super) cached: Option<(u32, u32)>,
    pub(super) first_token_after: Duration,
    pub(super) between_events: Duration,
    pub(super) words_per_piece: Option<NonZeroUsize>,
    pub(super) fault: Option<Fault>,
}

#[derive(Clone)]
pub(super) enum Refusal {
    BedrockException(BedrockException, String),
    BadGateway,
}

#[derive(Clone)]
pub(super) enum Block {
    Text(String),
    ToolCall { id: String, name: String, input: String },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    HangBefore,
    HangAfter(usize),
    CutAfter(usize),
    EndAfter(usize),
    MalformedAfter(usize),
    ExceptionAfter(usize, BedrockException),
}

/// What is answered. [`ScriptedReply::default`] says nothing at all, and is what a reply of tool calls alone starts from.
impl ScriptedReply {
    /// The model says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![Block::Text(text.into())], ..Self::default() }
    }

    /// The same, and the model calls a tool behind it. The stop reason is then `tool_use`.
    pub fn tool_call(self, id: impl Into<String>, name: impl Into<String>, input: Json) -> Self {
        self.raw_tool_call(id, name, input.to_string())
    }

    /// The same, and the model calls a tool with an input that need not be JSON. For a tool without arguments, Claude
    /// streams an empty one. `Converse` answers with a string where it is no JSON.
    pub fn raw_tool_call(mut self, id: impl Into<String>, name: impl Into<String>, input: impl Into<String>) -> Self {
        self.blocks.push(Block::ToolCall { id: id.into(), name: name.into(), input: input.into() });
        self
    }

    /// The same with another stop reason than `end_turn`, or `tool_use` where there is a tool call.
    pub fn stop(self, reason: StopReason) -> Self {
        Self { stop: Some(reason), ..self }
    }

    /// The same with these tokens. Without, a token is 4 bytes: of the request's body, and of the answer.
    pub fn usage(self, input_tokens: u32, output_tokens: u32) -> Self {
        Self { usage: Some((input_tokens, output_tokens)), ..self }
    }

    /// The same with tokens that were read from the cache and written to it, which `usage` does not count.
    pub fn cached(self, read_tokens: u32, write_tokens: u32) -> Self {
        Self { cached: Some((read_tokens, write_tokens)), ..self }
    }

    /// The same with texts in pieces of so many words, instead of one.
    pub fn words_per_piece(self, words: NonZeroUsize) -> Self {
        Self { words_per_piece: Some(words), ..self }
    }
}

/// When it is answered, by tokio's clock.
impl ScriptedReply {
    /// The same, and the head of the answer, its first and its second event come so long after the request.
    pub fn first_token_after(self, wait: Duration) -> Self {
        Self { first_token_after: wait, ..self }
    }

    /// The same, and each event from the third on comes so long after the one before.
    pub fn between_events(self, wait: Duration) -> Self {
        Self { between_events: wait, ..self }
    }
}

/// Refused, before there is an answer. Of what else a reply can have, its first wait and `hang_before` hold.
impl ScriptedReply {
    /// Refused with an exception, in the words of Bedrock.
    pub fn refused(exception: BedrockException) -> Self {
        Self::refused_with(exception, exception.wording())
    }

    /// `ValidationException`, status 400, with a message.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::refused_with(BedrockException::Validation, message)
    }

    /// `ThrottlingException`, status 429.
    pub fn throttled() -> Self {
        Self::refused(BedrockException::Throttling)
    }

    /// `ServiceUnavailableException`, status 503.
    pub fn unavailable() -> Self {
        Self::refused(BedrockException::ServiceUnavailable)
    }

    /// `InternalServerException`, status 500.
    pub fn internal_error() -> Self {
        Self::refused(BedrockException::InternalServer)
    }

    /// `AccessDeniedException`, status 403.
    pub fn access_denied() -> Self {
        Self::refused(BedrockException::AccessDenied)
    }

    /// `ModelTimeoutException`, status 408.
    pub fn model_timeout() -> Self {
        Self::refused(BedrockException::ModelTimeout)
    }

    /// `ModelNotReadyException`, status 429.
    pub fn model_not_ready() -> Self {
        Self::refused(BedrockException::ModelNotReady)
    }

    /// A page in HTML with the status 502, as something between the client and Bedrock may give.
    pub fn bad_gateway() -> Self {
        Self { refusal: Some(Refusal::BadGateway), ..Self::default() }
    }

    fn refused_with(exception: BedrockException, message: impl Into<String>) -> Self {
        Self { refusal: Some(Refusal::BedrockException(exception, message.into())), ..Self::default() }
    }
}

/// What goes wrong; of several, the last that was set. A number beyond all events means at their end.
impl ScriptedReply {
    /// The same, but no answer ever comes.
    pub fn hang_before(self) -> Self {
        self.fault(Fault::HangBefore)
    }

    /// The same, but behind so many events nothing comes any more, and the connection stays. With 0 only the head of
    /// the answer comes.
    pub fn hang_after(self, events: usize) -> Self {
        self.fault(Fault::HangAfter(events))
    }

    /// The same, but behind so many events the connection breaks in the middle of the next one.
    pub fn cut_after(self, events: usize) -> Self {
        self.fault(Fault::CutAfter(events))
    }

    /// The same, but behind so many events the stream ends as if that were all.
    pub fn end_after(self, events: usize) -> Self {
        self.fault(Fault::EndAfter(events))
    }

    /// The same, but behind so many events the checksum of the next one is wrong.
    pub fn malformed_after(self, events: usize) -> Self {
        self.fault(Fault::MalformedAfter(events))
    }

    /// The same, but behind so many events comes an exception, and the stream ends.
    pub fn exception_after(self, events: usize, exception: BedrockException) -> Self {
        self.fault(Fault::ExceptionAfter(events, exception))
    }

    fn fault(self, fault: Fault) -> Self {
        Self { fault: Some(fault), ..self }
    }
}

/// Kinds and lengths, not the words.
impl fmt::Debug for ScriptedReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedReply")
            .field("refusal", &self.refusal)
            .field("blocks", &self.blocks)
            .field("stop", &self.stop)
            .field("usage", &self.usage)
            .field("cached", &self.cached)
            .field("first_token_after", &self.first_token_after)
            .field("between_events", &self.between_events)
            .field("words_per_piece", &self.words_per_piece)
            .field("fault", &self.fault)
            .finish()
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BedrockException(exception, message) => write!(f, "{exception:?}({} bytes)", message.len()),
            Self::BadGateway => f.write_str("BadGateway"),
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::ToolCall { input, .. } => write!(f, "ToolCall({} bytes)", input.len()),
        }
    }
}
