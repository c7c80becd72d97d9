//! The cost of a live call: its overhead over a loop on `ConverseStream`, its tokens, and a thousand calls at once.
//!
//! Run `cargo bench --bench session`. Append `-- many`, `-- overhead` or `-- tokens` to run one part. Client, session and
//! the fake Bedrock share one process, so compare figures only with those printed in the same run.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, clippy::disallowed_methods)]

mod bare;
mod elsewhere;
mod figures;
mod many;
mod overhead;
mod scene;
mod tokens;
#[path = "../workload/mod.rs"]
mod workload;

use tokio::runtime::Builder;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_asked = |part: &str| asked.is_empty() || asked.iter().any(|asked| asked == part);
    let threads = || Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // This part runs first, because it measures the memory of the process.
    if is_asked("many") {
        threads().block_on(many::print());
    }
    if is_asked("overhead") {
        threads().block_on(overhead::print());
    }
    if is_asked("tokens") {
        // This part measures only tokens, so the clock is paused.
        Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(tokens::print());
    }
}
