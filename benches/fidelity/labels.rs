//! [`Label`]: what a person found to hold in a conversation: constraints, decisions, refusals and corrections.

use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Constraint,
    Decision,
    Refusal,
    Correction,
}

/// A text that a prompt must say while the label holds.
#[derive(Debug, Clone)]
pub struct Label {
    pub call: String,
    pub kind: Kind,
    /// The number of the item of the conversation that says it, and of the first one at which it no longer holds.
    from: usize,
    until: usize,
    pattern: Regex,
}

impl Label {
    /// Returns whether the label holds before item `items`, and only covered turns contain it.
    pub fn holds(&self, covered: usize, items: usize, first: usize) -> bool {
        first + self.from < covered && self.until.checked_add(first).is_none_or(|until| items < until)
    }

    pub fn is_in(&self, text: &str) -> bool {
        self.pattern.is_match(text)
    }

    pub fn pattern(&self) -> &str {
        self.pattern.as_str()
    }
}

/// Reads the labels of this folder.
pub fn all() -> Vec<Label> {
    let labels: Json = serde_json::from_str(include_str!("labels.json")).unwrap();
    labels.as_array().unwrap().iter().map(label).collect()
}

fn label(label: &Json) -> Label {
    let number = |key: &str| label[key].as_u64().map_or(usize::MAX, |number| usize::try_from(number).unwrap());
    let kind = match label["kind"].as_str().unwrap() {
        "constraint" => Kind::Constraint,
        "decision" => Kind::Decision,
        "refusal" => Kind::Refusal,
        "correction" => Kind::Correction,
        other => panic!("unknown kind {other:?}"),
    };
    let pattern = RegexBuilder::new(label["pattern"].as_str().unwrap()).case_insensitive(true).build().unwrap();
    Label { call: label["call"].as_str().unwrap().into(), kind, from: number("from"), until: number("until"), pattern }
}
