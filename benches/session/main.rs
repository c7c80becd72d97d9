//! What a live call costs: its time beside a bare loop over `ConverseStream`, the tokens it sends, and a thousand at once.
//!
//! `cargo bench --bench session`, with `many`, `overhead` or `tokens` behind `--` for a part of it. Client, session and
//! the stand-in for Bedrock share the machine, and the process too: only what stands side by side here can be compared.

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
    // The first one, for it measures the memory of the process.
    if is_asked("many") {
        threads().block_on(many::print());
    }
    if is_asked("overhead") {
        threads().block_on(overhead::print());
    }
    if is_asked("tokens") {
        // Nothing is measured but tokens: no time need pass.
        Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(tokens::print());
    }
}
