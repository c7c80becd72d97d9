//! Measures the check and the facts on summaries that a model wrote of invented calls, in six languages: false alarms, the
//! share of invented sentences with a name that are removed, and the share of the summaries' values that are facts. The
//! calls are in `tests/summaries`, one per line.

#![allow(clippy::print_stderr, reason = "the figures are the result")]

use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use super::super::{FactTable, RuleFactFinder};
use super::*;
use crate::MessagesManager;
use crate::message::PlainMessage;

const LANGUAGES: [&str; 6] = ["de", "en", "es", "fr", "it", "pt"];

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

fn source<'a>(call: impl IntoIterator<Item = &'a (String, String)>) -> Source {
    Source::new(&call.into_iter().map(|(role, words)| format!("{}\n", json!({role: words}))).collect::<String>())
}

#[test]
fn summaries_of_a_model_stay_and_names_added_to_them_do_not() {
    let (mut all_alarms, mut all_read, mut all_found, mut all_invented) = (0, 0, 0, 0);
    for language in LANGUAGES {
        let (mut alarms, mut read, mut found, mut invented) = (0, 0, 0, 0);
        for case in cases(language) {
            let source = source(&case.call);
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

/// The facts that were said in a call, as text.
fn facts(call: &[(String, String)]) -> String {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("Hello").unwrap();
    manager.add_assistant("Hello").unwrap();
    for (role, words) in call {
        match role.as_str() {
            "user" => drop(manager.add_user(words.as_str()).unwrap()),
            "assistant" => drop(manager.add_assistant(words.as_str()).unwrap()),
            _ => {}
        }
    }
    let mut table = FactTable::default();
    table.limit(20_000);
    table.update(&manager, 0, u32::MAX, &RuleFactFinder);
    table.before(u32::MAX).text(20_000, |_| false).unwrap_or_default().replace('=', " = ")
}

/// The values of a text that `said` has, and those of them that `kept` lacks.
fn lost<'a>(text: &'a str, said: &Source, kept: &Source) -> (usize, Vec<&'a str>) {
    let (mut all, mut lost) = (0, Vec::new());
    for sentence in sentences(text) {
        let tokens = tokens(sentence);
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let Some((found, length)) = value(&tokens, at) else {
                at += 1;
                continue;
            };
            let is_value = match &found {
                Value::Name => !token.is_first && !CommonWords::is_common(&token.lower),
                Value::Number { is_plain: true, key, .. } => key.len() > 1,
                Value::Words(_) => false,
                _ => true,
            };
            let has = |source: &Source| match &found {
                Value::Name => source.has_name(token),
                found => source.has(found, token),
            };
            if is_value && has(said) {
                all += 1;
                lost.extend(Some(token.text).filter(|_| !has(kept)));
            }
            at += length;
        }
    }
    (all, lost)
}

#[test]
fn facts_and_results_of_tools_hold_the_values_of_the_summaries() {
    let (mut all, mut all_lost) = (0, 0);
    for language in LANGUAGES {
        let (mut values, mut missing) = (0, Vec::new());
        for case in cases(language) {
            let results = case.call.iter().filter(|(role, _)| role == "tool");
            let facts = facts(&case.call).lines().map(|line| ("facts".to_owned(), line.to_owned())).collect::<Vec<_>>();
            let (found, lost) = lost(&case.summary, &source(&case.call), &source(facts.iter().chain(results)));
            values += found;
            missing.extend(lost.into_iter().map(str::to_owned));
        }
        eprintln!("{language}: {} of {values} values are no facts: {missing:?}", missing.len());
        all += values;
        all_lost += missing.len();
    }
    assert!(all_lost * 100 <= all * 3, "{all_lost} of {all}");
}
