//! [`ModelSummarizer`]: a summary that a language model writes.

use std::future::poll_fn;
use std::time::Duration;

use crate::manager::Summarizing;
use crate::message::{Message, Position, Role, Text, is_blank, is_blank_char};
use crate::model::{Failure, Generation, Model, ModelError, ModelEvent, ModelRequest, Partial, StopReason, Usage};
use crate::model::{SummarizeError, Summarizer, Summary, SummaryFuture};

/// What the model is to do.
const PROMPT: &str = include_str!("summary_prompt.md");

/// Lets a language model write the summary.
///
/// The model is told what to do in the system prompt, and gets the conversation as data in one user message:
/// [`Summarizing::for_model`] between two tags, which nothing said in the call can close. Tools are not offered to it.
///
/// If it fails, a conversation takes the summary of [`ExtractiveSummarizer`](crate::memory::ExtractiveSummarizer).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSummarizer<M> {
    model: M,
    prompt: Text,
    language: Option<Text>,
    max_bytes: usize,
    timeout: Duration,
}

/// A shorter summary says too little. A word has about 6 bytes.
const LEAST_BYTES: usize = 200;
const BYTES_A_WORD: usize = 6;

impl<M> ModelSummarizer<M> {
    /// Summaries of `model`, of at most 3,000 bytes, each within 20 s, in the language of the call.
    pub fn new(model: M) -> Self {
        Self { model, prompt: PROMPT.into(), language: None, max_bytes: 3_000, timeout: Duration::from_secs(20) }
    }

    /// The same with a prompt of your own. It says that what stands between `<call>` and `</call>` is data, what the
    /// lines there are, and that the earlier summary among them is replaced. The length and the language are said
    /// behind it.
    #[must_use]
    pub fn with_prompt(self, prompt: impl Into<Text>) -> Self {
        Self { prompt: prompt.into(), ..self }
    }

    /// The same in this language, such as `Italian`, whatever the call is in.
    #[must_use]
    pub fn with_language(self, language: impl Into<Text>) -> Self {
        Self { language: Some(language.into()), ..self }
    }

    /// The same with another bound on the summary, in bytes: 200 or more. The model is asked for fewer words than that;
    /// where it writes more, the summary is cut behind a sentence.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes: max_bytes.max(LEAST_BYTES), ..self }
    }

    /// The same with another time in which the whole summary has to come.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    fn request(&self, summarizing: &Summarizing) -> ModelRequest {
        let words = self.max_bytes / BYTES_A_WORD * 4 / 5;
        let language = self.language.as_deref().unwrap_or("the language that the caller speaks");
        let system = format!("{}\n\nWrite in {language}, at most {words} words.\n", self.prompt.trim_end());
        // In JSON they stand in strings only, where it makes no difference to what is said.
        let call = summarizing.for_model().replace('<', "\\u003c").replace('>', "\\u003e");
        let asked = format!("<call>\n{call}</call>\n\nWrite the minutes of this call.");
        let message = Message::new(0.into(), Position::message(0), Role::User, asked.into(), 0);
        ModelRequest { system: vec![system.into()], ..ModelRequest::new(vec![message]) }
    }
}

impl<M: Model> ModelSummarizer<M> {
    async fn summary(&self, summarizing: &Summarizing) -> Result<Summary, SummarizeError> {
        let answer = read(self.model.generate(self.request(summarizing)), self.max_bytes);
        let after = self.timeout;
        let answer = tokio::time::timeout(after, answer).await.map_err(|_| SummarizeError::TimedOut { after })??;
        if is_blank(&answer.text) {
            return Err(SummarizeError::Blank);
        }
        let text = if answer.is_cut { up_to_sentence(&answer.text, self.max_bytes) } else { &answer.text };
        Ok(Summary { text: text.trim_end_matches(is_blank_char).into(), usage: answer.usage })
    }
}

/// Needs the timer of a tokio runtime.
impl<M: Model> Summarizer for ModelSummarizer<M> {
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        Box::pin(self.summary(summarizing))
    }
}

struct Answer {
    text: String,
    is_cut: bool,
    usage: Usage,
}

/// Reads to the end, where the usage stands; keeps little more than `max_bytes`.
async fn read(mut answer: Generation, max_bytes: usize) -> Result<Answer, SummarizeError> {
    let mut text = String::new();
    let mut usage = Usage::default();
    let mut stop = None;
    while let Some(event) = poll_fn(|context| answer.as_mut().poll_next(context)).await {
        match event? {
            ModelEvent::Text(piece) if text.len() <= max_bytes => {
                let blanks =
                    if text.is_empty() { piece.len() - piece.trim_start_matches(is_blank_char).len() } else { 0 };
                text.push_str(piece.get(blanks..).unwrap_or_default());
            }
            ModelEvent::Stop(reason) => stop = Some(reason),
            ModelEvent::Usage(used) => usage += used,
            _ => {}
        }
    }
    let is_cut = match stop {
        None => {
            let received = Partial { text_bytes: text.len(), ..Partial::default() };
            return Err(ModelError::new(Failure::Truncated, received).into());
        }
        Some(StopReason::Filtered) => {
            let source =
                "a guardrail or a filter took the summary away; take the extractive summariser as the fallback";
            return Err(SummarizeError::Model { retryable: false, source: source.into() });
        }
        Some(StopReason::MaxTokens | StopReason::ContextFull) => true,
        Some(_) => text.len() > max_bytes,
    };
    Ok(Answer { text, is_cut, usage })
}

impl From<ModelError> for SummarizeError {
    fn from(error: ModelError) -> Self {
        match *error.kind() {
            Failure::TimedOut { after, .. } => Self::TimedOut { after },
            _ => Self::Model { retryable: error.is_retryable(), source: error.into() },
        }
    }
}

/// At most `max_bytes` of the text: up to the end of a sentence, else of a word, where that is not less than half.
fn up_to_sentence(text: &str, max_bytes: usize) -> &str {
    let most = (0..=max_bytes.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default();
    let ends = |at: usize, c: char| match c {
        '。' | '！' | '？' | '\n' => true,
        '.' | '!' | '?' | '…' => {
            text.get(at + c.len_utf8()..).is_some_and(|rest| !rest.starts_with(|c: char| !c.is_whitespace()))
        }
        _ => false,
    };
    let behind = |is_end: &dyn Fn(usize, char) -> bool| {
        let last = most.char_indices().rev().find(|(at, c)| is_end(*at, *c));
        last.map(|(at, c)| at + c.len_utf8()).filter(|end| *end >= most.len() / 2)
    };
    let end = behind(&ends).or_else(|| behind(&|_, c| c.is_whitespace()));
    most.get(..end.unwrap_or(most.len())).unwrap_or(most)
}

#[cfg(test)]
mod tests;
