//! Measures the check on summaries that a model wrote of invented calls, in six languages: false alarms, and the share of
//! invented sentences with a name that are removed. The calls are in `tests/summaries`, one per line.

#![allow(clippy::print_stderr, reason = "the figures are the result")]

use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Deserialize)]
struct Case {
    /// The role and the words of each message.
    call: Vec<(String, String)>,
    summary: String,
    /// A name that the call lacks, and a sentence with it.
    invented: Vec<(String, String)>,
}

fn cases(language: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/summaries/{language}.jsonl"));
    let lines = std::fs::read_to_string(path).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn summaries_of_a_model_stay_and_names_added_to_them_do_not() {
    let (mut all_alarms, mut all_read, mut all_found, mut all_invented) = (0, 0, 0, 0);
    for language in ["de", "en", "es", "fr", "it", "pt"] {
        let (mut alarms, mut read, mut found, mut invented) = (0, 0, 0, 0);
        for case in cases(language) {
            let lines: String = case.call.iter().map(|(role, words)| format!("{}\n", json!({role: words}))).collect();
            let source = Source::new(&lines);
            let written: Vec<&str> = sentences(&case.summary).collect();
            let (_, removed) = source.checked(&case.summary);
            alarms += removed.all();
            read += written.len();
            let (before, after) = written.split_at(written.len() / 2);
            for (name, sentence) in &case.invented {
                let (kept, _) = source.checked(&format!("{} {sentence} {}", before.concat(), after.concat()));
                invented += 1;
                found += usize::from(!kept.contains(name));
            }
        }
        eprintln!("{language}: {alarms} false alarms in {read} sentences; {found} of {invented} invented names found");
        all_alarms += alarms;
        all_read += read;
        all_found += found;
        all_invented += invented;
    }
    assert!(all_alarms * 50 <= all_read, "{all_alarms} of {all_read}");
    assert!(all_found * 100 >= all_invented * 98, "{all_found} of {all_invented}");
}
