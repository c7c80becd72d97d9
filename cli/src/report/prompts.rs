//! [`Prompts`]: the tokens of each prompt, what they cost, and the memory.

use std::fmt;
use std::str::FromStr;

use verbale::conversation::{CallMetrics, Conversation};
use verbale::message::Record;
use verbale::model::Usage;
use verbale::{Message, MessageWrapper, PlainMessage, Role, TokenPrices};

use super::chart::Value;
use crate::text::visible;
use crate::turn::Request;
use crate::turns::{Sent, Turns};

/// The memory of a prompt, if it is another one than that before.
#[derive(Debug)]
pub struct Memory {
    pub turn: u32,
    /// The number of the message with the turn's record.
    pub message: usize,
    /// The number of the last message that the memory covers.
    pub covers: u32,
    /// Whether the rebuilt prompt is the one that was sent.
    pub is_sent: bool,
    /// Its lines, and whether the memory before had none of them.
    pub lines: Vec<(String, bool)>,
}

/// The prompts of a call.
#[derive(Debug, Default)]
pub struct Prompts {
    pub tokens: Vec<Value>,
    pub memories: Vec<Memory>,
    pub usage: Usage,
    summaries: Usage,
}

impl Prompts {
    pub fn new(conversation: &Conversation, turns: &Turns) -> Self {
        let mut prompts = Self::default();
        for sent in turns.requests() {
            prompts.usage += usage(sent.request);
            if sent.is_after_cut {
                prompts.memory(conversation, sent);
            }
            prompts.tokens.extend(bar(sent));
        }
        conversation.read(|manager| {
            let all = manager.meta_messages().iter().map(PlainMessage::message);
            for usage in all.filter(|message| message.role() == Role::Summary).filter_map(written_with) {
                prompts.summaries += usage;
            }
        });
        prompts
    }

    /// Returns what all tokens cost, in micro-dollars.
    pub fn cost(&self, prices: &Prices) -> u64 {
        let mut metrics = CallMetrics::default();
        (metrics.usage, metrics.summary_usage) = (self.usage, self.summaries);
        metrics.cost(&prices.0, &prices.0)
    }

    /// Describes the tokens.
    pub fn words(&self) -> String {
        let Usage { input_tokens, output_tokens, cache_read_tokens, .. } = self.usage;
        let cached = (cache_read_tokens * 100).checked_div(input_tokens).unwrap_or_default();
        format!("{input_tokens} tokens in, {cached}% of them cached, {output_tokens} out")
    }

    fn memory(&mut self, conversation: &Conversation, Sent { turn, request, sent_ms, .. }: Sent<'_>) {
        let Some((rebuilt, is_same)) = conversation.prompt_at(sent_ms) else { return };
        let Some(text) = rebuilt.memory else { return };
        let before = self.memories.last();
        let is_new = |line: &str| before.is_none_or(|before| before.lines.iter().all(|(known, _)| known != line));
        let lines = text.as_str().lines().map(visible).map(|line| (line.clone(), !line.is_empty() && is_new(&line)));
        let lines: Vec<(String, bool)> = lines.collect();
        let covers = request.memory_covers.unwrap_or_default();
        self.memories.push(Memory {
            turn: turn.number,
            message: turn.message,
            covers,
            is_sent: is_same == Some(true),
            lines,
        });
    }
}

fn bar(Sent { turn, request, is_after_cut, .. }: Sent<'_>) -> Option<Value> {
    let input = request.input?;
    let cached = request.cache_read.min(input);
    let cut = match request.memory_covers.filter(|_| is_after_cut) {
        Some(seq) => format!(", the memory now covers the messages up to number {seq}"),
        None => String::new(),
    };
    let title = format!("turn {}: {input} tokens, {cached} of them cached{cut}", turn.number);
    Some(Value { lower: cached as f64, upper: (input - cached) as f64, message: turn.message, title, is_after_cut })
}

fn usage(request: &Request) -> Usage {
    let mut usage = Usage::default();
    (usage.input_tokens, usage.output_tokens) = (request.input.unwrap_or_default(), request.output.unwrap_or_default());
    (usage.cache_read_tokens, usage.cache_write_tokens) = (request.cache_read, request.cache_write);
    usage
}

/// Returns the tokens of the request to the model that wrote a summary, if a model did.
fn written_with(message: &Message) -> Option<Usage> {
    let record = serde_json::to_value(Record::from(message.clone())).ok()?;
    let request: Request = serde_json::from_value(record.pointer("/metadata/request")?.clone()).ok()?;
    Some(usage(&request))
}

/// The prices of a million tokens, in dollars.
#[derive(Clone, Copy)]
pub struct Prices(TokenPrices);

impl FromStr for Prices {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str =
            "expected dollars of a million tokens: IN,OUT or IN,OUT,READ,WRITE, such as 3,15,0.3,3.75";
        let price = |text: &str| text.trim().parse().ok().filter(|price: &f64| (0.0..=1e6).contains(price));
        let prices: Option<Vec<u64>> =
            text.split(',').map(|text| price(text).map(|price| (price * 1e6).round() as u64)).collect();
        match prices.as_deref() {
            Some([input, output]) => Ok(Self(TokenPrices::new(*input, *output))),
            Some([input, output, read, write]) => Ok(Self(TokenPrices::new(*input, *output).with_cache(*read, *write))),
            _ => Err(EXPECTED),
        }
    }
}

impl fmt::Debug for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Formats micro-dollars.
pub fn dollars(micros: u64) -> String {
    format!("${}.{:04}", micros / 1_000_000, micros / 100 % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_dollars_of_a_million_tokens() {
        let mut prompts = Prompts::default();
        prompts.usage.input_tokens = 1_000_000;
        prompts.usage.cache_read_tokens = 400_000;
        prompts.usage.output_tokens = 100_000;
        let cost = |prices: &str| dollars(prompts.cost(&prices.parse().unwrap()));
        assert_eq!((cost("3,15"), cost("3, 15, 0.3, 3.75")), ("$4.5000".to_owned(), "$3.4200".to_owned()));
        for wrong in ["", "3", "3,15,1", "-1,2", "three,four", "NaN,1"] {
            assert!(wrong.parse::<Prices>().is_err(), "{wrong}");
        }
    }
}
