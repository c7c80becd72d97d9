//! W1 and W2: the cost of a turn, and its growth with the length of the call. The baseline is a plain `Vec` that does the
//! same work.

mod workload;

use verbale::{MessagesManager, PlainMessage};
use workload::ratio::{compare, header, keeping_memory};
use workload::{Conversation, Floor, Words, play};

fn main() {
    keeping_memory(measure);
}

fn measure() {
    let words = Words::new();
    header("turn");
    for (name, summaries) in [("turns", false), ("turns, with summaries", true)] {
        for turns in [10, 100, 1_000, 10_000] {
            let name = format!("{turns} {name}");
            let (floor, verbale) = (whole::<Floor>, whole::<MessagesManager<PlainMessage>>);
            compare(&name, turns, || floor(&words, turns, summaries), || verbale(&words, turns, summaries));
        }
    }
}

fn whole<C: Conversation + Default>(words: &Words, turns: u64, summaries: bool) -> C {
    let mut conversation = C::default();
    play(&mut conversation, words, 1, turns, summaries);
    conversation
}
