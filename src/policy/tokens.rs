//! [`Tokens`] and [`TokenEstimator`]: estimates how many tokens a model will count.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use crate::message::{Content, Message, ResultContent, Value};

/// Estimates the tokens of a message from its characters and their scripts, without asking a model.
///
/// A [`Policy`](super::Policy) counts the window in this measure.
#[must_use]
pub fn estimate_tokens(message: &Message) -> u64 {
    Tokens::estimate(message).get()
}

/// A number of tokens, estimated or reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens(u64);

impl Tokens {
    pub(crate) const fn new(tokens: u64) -> Self {
        Self(tokens)
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// The estimate of [`estimate_tokens`].
    pub fn estimate(message: &Message) -> Self {
        CharacterEstimator.message(message)
    }

    pub(crate) const fn saturating_sub(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }
}

impl From<u64> for Tokens {
    fn from(tokens: u64) -> Self {
        Self(tokens)
    }
}

impl From<Tokens> for u64 {
    fn from(Tokens(tokens): Tokens) -> Self {
        tokens
    }
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Estimates how many tokens a model will count, without asking it.
///
/// Implementations are deterministic, take time in proportion to the text, and estimate high rather than low: a summary
/// that comes early costs little, but a window that is too large is refused.
pub(crate) trait TokenEstimator: fmt::Debug + Send + Sync {
    /// Estimates the tokens of a text.
    fn text(&self, text: &str) -> Tokens;

    /// Estimates the tokens of a message as the model gets it: its heard contents, and the marks of its role.
    fn message(&self, message: &Message) -> Tokens {
        self.contents(message) + MESSAGE
    }

    /// Estimates the heard contents of a message, without the marks of its role.
    fn contents(&self, message: &Message) -> Tokens {
        message.heard_contents().iter().map(|content| content_tokens(self, content)).sum()
    }
}

/// The marks of a message's role and end: a few tokens in every chat format.
const MESSAGE: Tokens = Tokens(4);
/// The marks of a tool call or result, including its id: ids such as `toolu_…` are random, so every few characters are a
/// token.
const TOOL_CALL: Tokens = Tokens(20);
/// An image of the largest size that a model accepts without shrinking it
/// (<https://docs.anthropic.com/en/docs/build-with-claude/vision>). A page of a document has about as many.
const MEDIA: Tokens = Tokens(1_600);

fn content_tokens(estimator: &(impl TokenEstimator + ?Sized), content: &Content) -> Tokens {
    match content {
        Content::Text(text) => estimator.text(text),
        Content::Media(_) => MEDIA,
        Content::ToolCall(tool_call) => {
            TOOL_CALL + estimator.text(tool_call.name().as_str()) + value_tokens(estimator, tool_call.arguments())
        }
        Content::ToolResult(result) => match result.outcome() {
            Ok(contents) => TOOL_CALL + contents.iter().map(|content| result_tokens(estimator, content)).sum(),
            Err(error) => TOOL_CALL + estimator.text(error.message()),
        },
        // Never sent to a model.
        Content::Unknown(_) => Tokens::default(),
    }
}

fn result_tokens(estimator: &(impl TokenEstimator + ?Sized), content: &ResultContent) -> Tokens {
    match content {
        ResultContent::Text(text) => estimator.text(text),
        ResultContent::Json(value) => value_tokens(estimator, value),
        ResultContent::Media(_) => MEDIA,
        // Never sent to a model.
        ResultContent::Unknown(_) => Tokens::default(),
    }
}

/// Estimates a value as JSON: its content, and about one token for the marks around it.
fn value_tokens(estimator: &(impl TokenEstimator + ?Sized), value: &Value) -> Tokens {
    const MARKS: Tokens = Tokens(1);
    let inner = match value {
        Value::Null | Value::Bool(_) => Tokens::default(),
        Value::Number(number) => estimator.text(&number.to_string()),
        Value::String(text) => estimator.text(text),
        Value::Bytes(bytes) => base64_tokens(bytes.len()),
        Value::List(list) => list.iter().map(|item| value_tokens(estimator, item)).sum(),
        Value::Map(map) => {
            map.iter().map(|(key, value)| estimator.text(key) + MARKS + value_tokens(estimator, value)).sum()
        }
    };
    inner + MARKS
}

/// Base64 has four characters per three bytes, and about two characters per token.
fn base64_tokens(bytes: usize) -> Tokens {
    Tokens(bytes as u64 * 2 / 3)
}

/// Estimates tokens from characters and their scripts, without tables or a model.
///
/// English has 3.5 characters per token, as Anthropic states for Claude
/// (<https://docs.anthropic.com/en/docs/about-claude/glossary>); OpenAI's rule of thumb of 4 would estimate lower.
/// Other scripts use the upper ends of measurements with the tokenizer of Llama 3
/// (<https://gigagpu.com/ai-tokenizer-considerations/>), in tokens per character: European languages 0.3 to 0.4,
/// Cyrillic 0.5 to 0.6, Arabic 0.5 to 0.7, Chinese 0.6 to 0.8, Japanese 0.7 to 0.9, Korean 0.8 to 1. A conversation
/// corrects the estimate by the usage that its model reports.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CharacterEstimator;

impl TokenEstimator for CharacterEstimator {
    fn text(&self, text: &str) -> Tokens {
        Tokens(text.chars().map(thousandths).sum::<u64>().div_ceil(1_000))
    }
}

/// Returns the estimate for a character, in thousandths of a token.
fn thousandths(c: char) -> u64 {
    match c {
        'a'..='z' | 'A'..='Z' | ' ' => 286,
        // Tokens hold at most three digits, and mostly one punctuation mark.
        '\0'..='\u{7f}' => 400,
        // Accented letters break words into shorter tokens. With them, European languages reach 0.3 to 0.4.
        '\u{80}'..='\u{24f}' => 600,
        // Kana, Hangul, Chinese characters, and full-width punctuation.
        '\u{1100}'..='\u{11ff}'
        | '\u{3000}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}' => 1_000,
        '\u{250}'..='\u{ffff}' => 700,
        // Rare Chinese characters and emoji are often encoded byte by byte.
        _ => 2_000,
    }
}
