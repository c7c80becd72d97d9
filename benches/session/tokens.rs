//! The tokens that a call sends, with and without summaries. A token is four bytes of a request's body.

use std::sync::Arc;
use std::time::Duration;

use verbale::conversation::CallMetrics;

use crate::scene::{self, Models, Pace};
use crate::workload::Words;

const TURNS: [u64; 4] = [10, 25, 50, 100];

pub async fn print() {
    println!("tokens sent during a call; a token is four bytes of a request's body");
    println!(
        "turns   without summaries   with   of these for summaries   applied   ratio   per turn, without and with"
    );
    let words = Arc::new(Words::new());
    for turns in TURNS {
        let [without, with] = [sent(&words, turns, false).await, sent(&words, turns, true).await];
        let (all_without, all_with) = (all(&without), all(&with));
        println!(
            "{turns:5} {all_without:19} {all_with:6} {:24} {:9} {:7.3} {:17.0} {:8.0}",
            with.summary_usage.input_tokens,
            with.summaries_applied,
            all_with as f64 / all_without as f64,
            all_without as f64 / turns as f64,
            all_with as f64 / turns as f64,
        );
    }
}

fn all(metrics: &CallMetrics) -> u64 {
    metrics.usage.input_tokens + metrics.summary_usage.input_tokens
}

async fn sent(words: &Arc<Words>, turns: u64, summaries: bool) -> CallMetrics {
    let model = scene::turns(words, Pace::default());
    let scribe = scene::summaries(words, Duration::from_millis(500));
    let call = Models::new(model.sdk_config(), scribe.sdk_config()).call(summaries).open().unwrap();
    for turn in 0..turns {
        scene::turn(&call, &scene::said(words, 0, turn)).await;
        // Seconds pass between two turns, so a summary finishes before the next turn.
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    assert_eq!((model.counters().refused, scribe.counters().refused), (0, 0));
    call.close("hangup", Duration::from_secs(5)).await.unwrap().metrics
}
