//! The price of the input of a call, with the provider's cache: without summaries, with summaries at the marks, and with
//! summaries that wait while they cost more than they save.

use verbale::{Policy, TokenPrices};

use crate::play::{self, Prompt};
use crate::recording::Recording;

/// The list prices in micro-dollars for a million tokens of input, read from the cache and written to it.
const LISTS: [(&str, u64, u64, u64); 3] = [
    ("Claude Sonnet 4.5", 3_000_000, 300_000, 3_750_000),
    ("Claude Haiku 4.5", 1_000_000, 100_000, 1_250_000),
    // Writing costs as much as other input.
    ("Nova Pro", 800_000, 200_000, 800_000),
];

/// Prints the mean price of a call's input in thousandths of a dollar.
pub fn print(name: &str, recordings: &[Recording], policy: &Policy) {
    let never = policy.clone().with_tokens(None).with_messages(None);
    let [never, marks] = [&never, policy].map(|policy| played(recordings, policy));
    for (model, input, read, write) in LISTS {
        let prices = TokenPrices::new(input, 0).with_cache(read, write);
        let waits = played(recordings, &policy.clone().with_prices(prices));
        let [never, marks, waits] = [&never, &marks, &waits].map(|calls| {
            let costs = calls.iter().zip(recordings).map(|(prompts, recording)| cost(recording, prompts, read, write));
            costs.sum::<f64>() / calls.len().max(1) as f64
        });
        println!("{name:<20} {model:<18} {never:>12.2} {marks:>10.2} {waits:>8.2}");
    }
}

pub const HEADER: &str = "the input of a call, in thousandths of a dollar  unsummarized   at marks   waiting";

fn played(recordings: &[Recording], policy: &Policy) -> Vec<Vec<Prompt>> {
    recordings.iter().map(|recording| play::play(recording, policy.clone())).collect()
}

/// Each request reads what it has in common with the request before from the cache, and writes the rest to it.
fn cost(recording: &Recording, prompts: &[Prompt], read: u64, write: u64) -> f64 {
    let instructions = recording.system.len();
    let mut before: Option<&Prompt> = None;
    let mut sum = 0;
    for prompt in prompts {
        let rest = prompt.memory.len() + prompt.window.len();
        let new = match before {
            // The memory precedes the window.
            Some(last) if last.memory == prompt.memory && last.covered == prompt.covered => {
                prompt.window.len().saturating_sub(last.window.len())
            }
            Some(_) => rest,
            None => instructions + rest,
        };
        sum += (instructions + rest - new) as u64 / 4 * read + new as u64 / 4 * write;
        before = Some(prompt);
    }
    // A price is for a million tokens, in millionths of a dollar.
    sum as f64 / 1e9
}
