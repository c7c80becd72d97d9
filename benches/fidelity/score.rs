//! [`Figures`]: the share of acts, facts and values that prompts still hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::Value as Json;

use crate::labels::{Kind, Label};
use crate::play::Prompt;
use crate::recording::{Item, Recording};
use crate::values::{Haystack, of_json, said};

pub const HEADER: &str =
    "                   acts  write lookup   said   next labels corrected  tokens  of full  prompts above it  memory";
/// The limits of the rounds in the table.
const ROUNDS: [usize; 3] = [5, 10, 30];

/// Kept and all.
#[derive(Debug, Default, Clone, Copy)]
struct Share(usize, usize);

impl Share {
    fn add(&mut self, is_kept: bool) {
        self.0 += usize::from(is_kept);
        self.1 += 1;
    }

    fn percent(self) -> String {
        if self.1 == 0 { "-".into() } else { format!("{:.1}", 100.0 * self.0 as f64 / self.1 as f64) }
    }
}

#[derive(Debug, Default)]
pub struct Figures {
    acts: Share,
    writes: Share,
    lookups: Share,
    said: Share,
    next: Share,
    labels: Share,
    corrections: Share,
    tokens: usize,
    full_tokens: usize,
    memory_tokens: usize,
    prompts: usize,
    longer: usize,
    by_rounds: [[Share; 3]; ROUNDS.len()],
    lost: BTreeMap<String, usize>,
}

impl Figures {
    pub fn row(&self, name: &str) -> String {
        let mut row = format!("{name:<17}");
        for share in [self.acts, self.writes, self.lookups, self.said, self.next, self.labels, self.corrections] {
            write!(row, "{:>7}", share.percent()).unwrap();
        }
        let prompts = self.prompts.max(1);
        let share = 100.0 * self.tokens as f64 / self.full_tokens.max(1) as f64;
        let (mean, memory) = (self.tokens / prompts, self.memory_tokens / prompts);
        write!(row, "{mean:>11}{share:>8.1}%{:>10}/{}{memory:>8}", self.longer, self.prompts).unwrap();
        row
    }

    /// Returns what is kept by the number of rounds that it survived.
    pub fn rounds(&self) -> Vec<String> {
        let least = std::iter::once(0).chain(ROUNDS.iter().map(|most| most + 1));
        let rows = least.zip(ROUNDS).zip(&self.by_rounds).map(|((least, most), [acts, writes, said])| {
            let [acts, writes, said] = [acts, writes, said].map(|share| share.percent());
            format!("  {least:>2} to {most:>2} rounds {acts:>5} {writes:>6}{said:>14}")
        });
        rows.collect()
    }

    /// Returns what was lost most often.
    pub fn lost(&self) -> Vec<String> {
        let mut lost: Vec<_> = self.lost.iter().collect();
        lost.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
        lost.iter().take(60).map(|(what, times)| format!("{times:>4} {what}")).collect()
    }
}

/// Scores the prompts of one recording.
pub fn add(recording: &Recording, prompts: &[Prompt], labels: &[Label], ours: &mut Figures, sliding: &mut Figures) {
    let mut boundaries = BTreeSet::new();
    let texts: Vec<String> = recording.items.iter().map(Item::text).collect();
    let is_transcript = recording.is_transcript;
    let values: Vec<_> = recording.items.iter().map(|item| values_of(item, is_transcript)).collect();
    for prompt in prompts.iter().filter(|prompt| prompt.items < recording.items.len()) {
        boundaries.insert(prompt.covered);
        let scored = |figures: &mut Figures, memory: &str, window: &str, covered: usize| {
            let full: usize = texts[..prompt.items].iter().map(|text| chars(text) + 1).sum();
            let all = chars(&recording.system) + chars(memory) + chars(window);
            figures.tokens += all / 4;
            figures.memory_tokens += chars(memory) / 4;
            figures.full_tokens += (chars(&recording.system) + full) / 4;
            figures.prompts += 1;
            figures.longer += usize::from(all > chars(&recording.system) + full + 1);
            let scoring = Scoring { recording, values: &values, items: prompt.items, covered, memory, window };
            scoring.add(figures, labels, &|item| boundaries.range(item + 1..).count());
        };
        scored(ours, &prompt.memory, &prompt.window, prompt.covered);
        let room = chars(&prompt.memory) + chars(&prompt.window);
        let (mut left, mut from) = (room, prompt.items);
        while from > 0 && chars(&texts[from - 1]) < left {
            left -= chars(&texts[from - 1]) + 1;
            from -= 1;
        }
        scored(sliding, "", &texts[from..prompt.items].join("\n"), prompt.covered);
    }
}

struct Scoring<'a> {
    recording: &'a Recording,
    values: &'a [BTreeSet<String>],
    items: usize,
    covered: usize,
    memory: &'a str,
    window: &'a str,
}

impl Scoring<'_> {
    fn add(&self, figures: &mut Figures, labels: &[Label], rounds: &dyn Fn(usize) -> usize) {
        let items = &self.recording.items;
        let memory = Haystack::new(self.memory);
        let window = Haystack::new(self.window);
        let prompt = Haystack::new(&format!("{}\n{}\n{}", self.recording.system, self.memory, self.window));
        let known: BTreeSet<&String> = self.values[..self.covered].iter().flatten().collect();
        for (index, item) in items[..self.covered].iter().enumerate() {
            let bucket = ROUNDS.iter().position(|most| rounds(index) <= *most);
            match item {
                Item::Caller(_) | Item::Assistant(_) => {
                    for value in &self.values[index] {
                        let is_kept = prompt.has(value);
                        figures.said.add(is_kept);
                        bucket.iter().for_each(|bucket| figures.by_rounds[*bucket][2].add(is_kept));
                        if !is_kept {
                            *figures.lost.entry(format!("said {value} ({})", self.recording.name)).or_default() += 1;
                        }
                    }
                }
                Item::Call { .. } => {}
                Item::Result { id, .. } => {
                    let Some(tool) = items.iter().find_map(|item| match item {
                        Item::Call { id: of, tool, .. } if of == id => Some(tool),
                        _ => None,
                    }) else {
                        continue;
                    };
                    for value in &self.values[index] {
                        let is_kept = prompt.has(value);
                        if self.recording.acting.contains(tool) {
                            figures.writes.add(is_kept);
                            bucket.iter().for_each(|bucket| figures.by_rounds[*bucket][1].add(is_kept));
                            if !is_kept {
                                *figures
                                    .lost
                                    .entry(format!("write {value} ({tool}, {})", self.recording.name))
                                    .or_default() += 1;
                            }
                        } else {
                            figures.lookups.add(is_kept);
                        }
                    }
                    if self.recording.acting.contains(tool) {
                        let is_kept = self.has_act(id, tool, item.has_failed());
                        figures.acts.add(is_kept);
                        bucket.iter().for_each(|bucket| figures.by_rounds[*bucket][0].add(is_kept));
                        if !is_kept {
                            *figures.lost.entry(format!("act {tool} ({})", self.recording.name)).or_default() += 1;
                        }
                    }
                }
            }
        }
        let next = &self.values[self.items];
        for value in next.iter().filter(|value| known.contains(*value) && !window.has(value)) {
            let is_kept = memory.has(value);
            figures.next.add(is_kept);
            if !is_kept {
                *figures.lost.entry(format!("next {value} ({})", self.recording.name)).or_default() += 1;
            }
        }
        let original = self.recording.original(&format!("{}\n{}", self.memory, self.window));
        for label in labels {
            let part = self.recording.parts.iter().find(|(name, _)| *name == label.call);
            if !part.is_some_and(|(_, first)| label.holds(self.covered, self.items, *first)) {
                continue;
            }
            let is_kept = label.is_in(&original);
            if label.kind == Kind::Correction {
                figures.corrections.add(is_kept)
            } else {
                figures.labels.add(is_kept)
            }
            if !is_kept {
                *figures.lost.entry(format!("label {} of {}", label.pattern(), label.call)).or_default() += 1;
            }
        }
    }

    /// Returns whether one line says which tool acted on which ids, and whether it worked.
    fn has_act(&self, id: &str, tool: &str, has_failed: bool) -> bool {
        let call = self.recording.items.iter().find_map(|item| match item {
            Item::Call { id: of, arguments, .. } if of == id => Some(arguments),
            _ => None,
        });
        let ids: BTreeSet<String> = call
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
            .filter(|(key, _)| key.ends_with(self.recording.id_end))
            .flat_map(|(_, value)| of_json(value))
            .collect();
        let states: &[&str] = if has_failed { &["failed", "error", "failure"] } else { &["succeeded", "done", "ok"] };
        self.memory.lines().chain(self.window.lines()).any(|line| {
            if !line.to_lowercase().contains(tool) {
                return false;
            }
            let line = Haystack::new(line);
            states.iter().any(|state| line.has(state)) && ids.iter().all(|id| line.has(id))
        })
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn values_of(item: &Item, is_transcript: bool) -> BTreeSet<String> {
    match item {
        Item::Caller(text) | Item::Assistant(text) => said(text, is_transcript),
        Item::Call { arguments, .. } => of_json(arguments),
        Item::Result { text, .. } => of_json(&serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str()))),
    }
}
