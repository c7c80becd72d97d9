//! [`ScriptedReply`]: an answer of the script, with its pace and its fault.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_bedrockruntime::types::StopReason;

use super::exception::Exception;

/// A scripted answer: contents, token usage, pace, and at most one fault.
///
/// [`ScriptedReply::default`] is an empty answer, to which tool calls can be added.
///
/// `Converse` answers in one piece, at the time when the last event of the stream would be due. With it, an exception
/// replaces the answer, `hang_after` sends only the head, and the other faults within the stream send only the first
/// half of the answer.
///
/// A stream has these events, and faults count them: `hang_after(2)` sends two events, then hangs.
///
/// 1. `messageStart`
/// 2. For each text: a `contentBlockDelta` for each piece, and a `contentBlockStop`.
/// 3. For each tool call: a `contentBlockStart`, a `contentBlockDelta` for each piece of the input, the first one empty as
///    Bedrock's is, and a `contentBlockStop`.
/// 4. `messageStop`
/// 5. `metadata`
///
/// ```
/// use std::time::Duration;
/// use verbale::testing::ScriptedReply;
///
/// let slow = ScriptedReply::text("One moment, I look it up.")
///     .tool_call("call_1", "get_booking", serde_json::json!({"id": "KL305T"}))
///     .usage(812, 31)
///     .first_token_after(Duration::from_millis(700))
///     .between_events(Duration::from_millis(30));
/// let failing = ScriptedReply::text("One moment").exception_after(2, "ModelStreamErrorException");
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct ScriptedReply {
    pub(in crate::testing) refusal: Option<Refusal>,
    pub(super) blocks: Vec<Block>,
    stop: Option<StopReason>,
    usage: Option<(u32, u32)>,
    pub(super) cached: Option<(u32, u32)>,
    pub(in crate::testing) first_token_after: Duration,
    pub(in crate::testing) between_events: Duration,
    pub(super) words_per_piece: Option<NonZeroUsize>,
    pub(in crate::testing) fault: Option<Fault>,
}

#[derive(Clone)]
pub(in crate::testing) enum Refusal {
    Exception(Exception, String),
    BadGateway,
}

#[derive(Clone)]
pub(super) enum Block {
    Text(String),
    ToolCall { id: String, name: String, input: String },
}

/// The end of an answer after a number of events.
#[derive(Debug, Clone, Copy)]
pub(in crate::testing) enum Fault {
    Hang(usize),
    Cut(usize),
    End(usize),
    Malformed(usize),
    Exception(usize, Exception),
}

/// The contents of the answer.
impl ScriptedReply {
    /// Creates an answer with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![Block::Text(text.into())], ..Self::default() }
    }

    /// Adds a tool call. The stop reason becomes `tool_use`.
    ///
    /// The input is a JSON value, or a text that may be invalid JSON. Claude streams an empty input for a tool without
    /// arguments. `Converse` returns invalid JSON as a string.
    pub fn tool_call(mut self, id: impl Into<String>, name: impl Into<String>, input: impl ToString) -> Self {
        self.blocks.push(Block::ToolCall { id: id.into(), name: name.into(), input: input.to_string() });
        self
    }

    /// Sets the stop reason. The default is `tool_use` with a tool call, and `end_turn` otherwise.
    pub fn stop(self, reason: StopReason) -> Self {
        Self { stop: Some(reason), ..self }
    }

    /// Sets the token usage. By default, 4 bytes of the request are one input token, and 4 bytes of the answer one
    /// output token.
    pub fn usage(self, input_tokens: u32, output_tokens: u32) -> Self {
        Self { usage: Some((input_tokens, output_tokens)), ..self }
    }

    /// Sets the tokens that the cache read and wrote. [`usage`](Self::usage) does not include them.
    pub fn cached(self, read_tokens: u32, write_tokens: u32) -> Self {
        Self { cached: Some((read_tokens, write_tokens)), ..self }
    }

    /// Sets the number of words in each streamed piece of text: 1 by default.
    pub fn words_per_piece(self, words: NonZeroUsize) -> Self {
        Self { words_per_piece: Some(words), ..self }
    }

    pub(super) fn stop_reason(&self) -> StopReason {
        let calls_tools = self.blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
        let default = if calls_tools { StopReason::ToolUse } else { StopReason::EndTurn };
        self.stop.clone().unwrap_or(default)
    }

    /// The time until the answer begins; `None` if it never does.
    pub(in crate::testing) fn begins_after(&self) -> Option<Duration> {
        Some(self.first_token_after).filter(|wait| *wait != Duration::MAX)
    }

    /// Returns the tokens of the input, the output, the cache read and the cache write.
    pub(in crate::testing) fn tokens(&self, request_bytes: usize) -> (u64, u64, u64, u64) {
        let answer_bytes = self.blocks.iter().map(|block| match block {
            Block::Text(text) => text.len(),
            Block::ToolCall { input, .. } => input.len(),
        });
        let (input, output) = match self.usage {
            Some((input, output)) => (input.into(), output.into()),
            None => (request_bytes.div_ceil(4) as u64, answer_bytes.sum::<usize>().div_ceil(4) as u64),
        };
        let (read, write) = self.cached.unwrap_or_default();
        (input, output, read.into(), write.into())
    }
}

/// The pace of the answer, by tokio's clock.
impl ScriptedReply {
    /// Sets the time from the request to the head of the answer and its first two events: zero by default. After
    /// `Duration::MAX` nothing ever comes, and the connection stays open.
    pub fn first_token_after(self, wait: Duration) -> Self {
        Self { first_token_after: wait, ..self }
    }

    /// Sets the time before each event from the third on: zero by default.
    pub fn between_events(self, wait: Duration) -> Self {
        Self { between_events: wait, ..self }
    }
}

/// Refusals instead of an answer. Of the other settings, only `first_token_after` applies to a refusal.
impl ScriptedReply {
    /// Creates a refusal with the status and the message of an exception, by its name in AWS's documentation, such as
    /// `ThrottlingException` or `AccessDeniedException`. An exception that Converse does not have gets status 400.
    pub fn refused(exception: &'static str) -> Self {
        let exception = Exception(exception);
        Self::refused_with(exception, exception.wording())
    }

    /// Creates a refusal with `ValidationException`, status 400, and a message.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::refused_with(Exception::VALIDATION, message)
    }

    /// Creates a refusal with status 502 and a page of HTML, as from a proxy between the client and Bedrock.
    pub fn bad_gateway() -> Self {
        Self { refusal: Some(Refusal::BadGateway), ..Self::default() }
    }

    fn refused_with(exception: Exception, message: impl Into<String>) -> Self {
        Self { refusal: Some(Refusal::Exception(exception, message.into())), ..Self::default() }
    }
}

/// Faults. The last one that is set applies. If `events` is greater than the number of all events, the fault follows
/// the last event; `cut_after` and `malformed_after` then break the last event.
impl ScriptedReply {
    /// Stops sending after `events` events, and keeps the connection open. With 0, only the head of the answer arrives.
    pub fn hang_after(self, events: usize) -> Self {
        self.with_fault(Fault::Hang(events))
    }

    /// Breaks the connection after `events` events, in the middle of the next event.
    pub fn cut_after(self, events: usize) -> Self {
        self.with_fault(Fault::Cut(events))
    }

    /// Ends the stream after `events` events, without an error.
    pub fn end_after(self, events: usize) -> Self {
        self.with_fault(Fault::End(events))
    }

    /// Sends the event after the first `events` events with a wrong checksum.
    pub fn malformed_after(self, events: usize) -> Self {
        self.with_fault(Fault::Malformed(events))
    }

    /// Sends an exception after `events` events, and ends the stream. Its name is one of [`refused`](Self::refused).
    ///
    /// Within a stream, the SDK knows `InternalServerException`, `ModelStreamErrorException`,
    /// `ServiceUnavailableException`, `ThrottlingException` and `ValidationException`. It reports any other exception
    /// there as unhandled.
    pub fn exception_after(self, events: usize, exception: &'static str) -> Self {
        self.with_fault(Fault::Exception(events, Exception(exception)))
    }

    fn with_fault(self, fault: Fault) -> Self {
        Self { fault: Some(fault), ..self }
    }
}

/// Shows kinds and lengths, not the words.
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
            Self::Exception(exception, message) => write!(f, "{}({} bytes)", exception.name(), message.len()),
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
