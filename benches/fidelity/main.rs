//! Plays recorded conversations through the library and prints what the prompt still holds of the turns that left the
//! window, beside a sliding window of the same size.
//!
//! `cargo bench --bench fidelity -- [FOLDER]` plays the conversations of a folder; without one, those beside the
//! project, as they are and with all tools, fields and ids renamed. Scripted calls in German, Italian and Spanish follow,
//! and calls of a bank, and what the input of a call costs. The memory has 600 tokens and 25 for each act, or
//! `FIDELITY_MEMORY` and 25. `FIDELITY_ONLY=tight` prints the tables whose names begin with it, `FIDELITY_LOST=1` what they lost,
//! and `FIDELITY_SHOW=1` the last prompt's memory. The scorer has patterns of its own and shares no rule with the memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a benchmark")]
#![allow(clippy::print_stdout, reason = "it prints a table")]

mod labels;
mod money;
mod play;
mod recording;
mod renamed;
mod score;
mod values;

use std::path::{Path, PathBuf};

use verbale::Policy;

use labels::Label;
use recording::Recording;
use score::{Figures, HEADER};

/// The number of conversations in a long call.
const JOINED: usize = 4;

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = folder.unwrap_or_else(|| data.join("tau-airline"));
    let labels = labels::all();
    let chats = recording::chats(&folder);
    if chats.is_empty() {
        println!("skipped: no conversations in {}", folder.display());
    }
    let single: Vec<Recording> = chats.clone();
    let joined: Vec<Recording> = chats.chunks_exact(JOINED).map(recording::join).collect();
    println!("{HEADER}");
    for (kind, recordings) in [("single", &single), ("joined", &joined)] {
        for (marks, policy) in marks() {
            table(&format!("{kind} {marks}"), recordings, &policy, &labels);
        }
    }
    let renamed: Vec<Recording> = chats.iter().map(renamed::renamed).collect();
    let renamed_joined: Vec<Recording> = renamed.chunks_exact(JOINED).map(recording::join).collect();
    for (kind, recordings) in [("renamed single", &renamed), ("renamed joined", &renamed_joined)] {
        for (marks, policy) in marks() {
            table(&format!("{kind} {marks}"), recordings, &policy, &labels);
        }
    }
    let scripted = recording::chats(&Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/fidelity/calls"));
    let scripted_joined = [recording::join(&scripted)];
    for (kind, recordings) in [("scripted single", scripted.as_slice()), ("scripted joined", &scripted_joined)] {
        for (marks, policy) in marks() {
            table(&format!("{kind} {marks}"), recordings, &policy, &[]);
        }
    }
    let calls = recording::calls(&data.join("harper-valley"));
    // Alone, these calls are shorter than the marks.
    let calls: Vec<Recording> = calls.chunks_exact(2 * JOINED).map(recording::join).collect();
    for (marks, policy) in marks() {
        table(&format!("bank joined {marks}"), &calls, &policy, &[]);
    }
    println!("{}", money::HEADER);
    for (kind, recordings) in [("money single", &single), ("money joined", &joined)] {
        for (marks, policy) in marks() {
            let name = format!("{kind} {marks}");
            if is_asked(&name) && !recordings.is_empty() {
                money::print(&name, recordings, &policy);
            }
        }
    }
}

fn marks() -> [(&'static str, Policy); 3] {
    let memory = std::env::var("FIDELITY_MEMORY").ok().and_then(|memory| memory.parse().ok());
    let policy = || Policy::default().with_memory(memory.unwrap_or(600));
    [
        ("default", policy()),
        ("mid", policy().with_tokens(500..=2_000).with_messages(8..=30).with_keep_turns(3)),
        ("tight", policy().with_tokens(300..=1_000).with_messages(4..=12).with_keep_turns(1)),
    ]
}

fn is_asked(name: &str) -> bool {
    let only = std::env::var("FIDELITY_ONLY").unwrap_or_default();
    only.split(',').any(|part| name.starts_with(part))
}

fn table(name: &str, recordings: &[Recording], policy: &Policy, labels: &[Label]) {
    if recordings.is_empty() || !is_asked(name) {
        return;
    }
    let (mut ours, mut sliding) = (Figures::default(), Figures::default());
    for recording in recordings {
        let requests = play::play(recording, policy.clone());
        if std::env::var_os("FIDELITY_SHOW").is_some() {
            println!("{}", requests.last().map_or("", |prompt| prompt.memory.as_str()));
        }
        score::add(recording, &requests, labels, &mut ours, &mut sliding);
    }
    println!("{}", ours.row(name));
    println!("{}", sliding.row("  sliding window"));
    if std::env::var_os("FIDELITY_ROUNDS").is_some() || name.starts_with("joined") {
        ours.rounds().iter().for_each(|row| println!("{row}"));
    }
    if std::env::var_os("FIDELITY_LOST").is_some() {
        ours.lost().iter().for_each(|row| println!("    lost {row}"));
    }
}
