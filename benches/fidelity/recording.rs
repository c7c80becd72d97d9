//! [`Recording`]: a recorded conversation as a list of items.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// The beginning of the result of a failed tool.
const ERROR: &str = "Error";

#[derive(Debug, Clone, Default)]
pub struct Recording {
    pub name: String,
    pub system: String,
    pub items: Vec<Item>,
    /// The name of each part of a joined call, with its first item.
    pub parts: Vec<(String, usize)>,
    /// Whether it is a transcript of speech, without capitals and digits.
    pub is_transcript: bool,
    /// The tools that change something outside.
    pub acting: BTreeSet<String>,
    /// The end of a field's name that has an id.
    pub id_end: &'static str,
    /// The names and ids of a renamed recording, with the original ones.
    pub originals: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Caller(String),
    Assistant(String),
    Call { id: String, tool: String, arguments: Json },
    Result { id: String, text: String },
}

impl Item {
    pub fn has_failed(&self) -> bool {
        matches!(self, Self::Result { text, .. } if text.starts_with(ERROR))
    }

    /// Returns the item as a prompt contains it.
    pub fn text(&self) -> String {
        match self {
            Self::Caller(text) | Self::Assistant(text) | Self::Result { text, .. } => text.clone(),
            Self::Call { tool, arguments, .. } => format!("{tool} {arguments}"),
        }
    }
}

/// Returns whether a tool changes something outside.
fn acts(tool: &str) -> bool {
    let reads = ["get_", "search_", "list_", "find_", "calculate", "think", "check_", "lookup"];
    !reads.iter().any(|read| tool.starts_with(read))
}

/// Reads conversations in the chat format of OpenAI.
pub fn chats(folder: &Path) -> Vec<Recording> {
    files(folder, "json").iter().filter_map(|path| chat(path)).collect()
}

fn chat(path: &Path) -> Option<Recording> {
    let read: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut recording = Recording { parts: vec![(name.clone(), 0)], name, id_end: "_id", ..Recording::default() };
    for (number, message) in read["messages"].as_array()?.iter().enumerate() {
        let text = message["content"].as_str().unwrap_or_default().trim().to_owned();
        match message["role"].as_str().unwrap() {
            "system" => recording.system = text,
            "user" => {
                recording.end_turn();
                recording.items.push(Item::Caller(text));
            }
            "tool" => {
                let open = |item: &&Item| matches!(item, Item::Call { .. });
                // Ids are not unique in some recordings, but results follow their calls.
                let Some(Item::Call { id, .. }) = recording.items.iter().rev().find(open) else { panic!("{number}") };
                let (id, text) = (id.clone(), message["content"].as_str().unwrap_or_default().to_owned());
                recording.items.push(Item::Result { id, text });
            }
            _ => {
                recording.items.extend((!text.is_empty()).then_some(Item::Assistant(text)));
                for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
                    let function = &call["function"];
                    let arguments = serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
                    let tool = function["name"].as_str().unwrap().to_owned();
                    recording.acting.extend(acts(&tool).then(|| tool.clone()));
                    recording.items.push(Item::Call { id: format!("c{number}-{index}"), tool, arguments });
                }
            }
        }
    }
    recording.end_turn();
    Some(recording)
}

impl Recording {
    /// Returns a text with the original names and ids.
    pub fn original(&self, text: &str) -> String {
        let put_back = |text: String, (new, old): (&String, &String)| text.replace(new.as_str(), old);
        self.originals.iter().rev().fold(text.to_owned(), put_back)
    }

    /// Adds the answer to the last result of a tool, which some recordings lack.
    fn end_turn(&mut self) {
        if let Some(Item::Result { .. }) = self.items.last() {
            self.items.push(Item::Assistant("Thank you for calling.".into()));
        }
    }
}

/// Reads calls of a bank, a JSON line per segment.
pub fn calls(folder: &Path) -> Vec<Recording> {
    files(folder, "jsonl").iter().map(|path| call(path)).collect()
}

fn call(path: &Path) -> Recording {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let system = "You answer the phone of a bank.".into();
    let mut recording = Recording { name, system, is_transcript: true, ..Recording::default() };
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let segment: Json = serde_json::from_str(line).unwrap();
        let words = segment["text"].as_str().unwrap().split(' ').filter(|word| !word.starts_with(['[', '<']));
        let text = words.collect::<Vec<_>>().join(" ");
        let is_caller = segment["role"] == "caller";
        match recording.items.last_mut() {
            _ if text.is_empty() => {}
            Some(Item::Caller(last)) if is_caller => *last = format!("{last} {text}"),
            Some(Item::Assistant(last)) if !is_caller => *last = format!("{last} {text}"),
            _ if is_caller => recording.items.push(Item::Caller(text)),
            None => recording.items.extend([Item::Caller("hello".into()), Item::Assistant(text)]),
            _ => recording.items.push(Item::Assistant(text)),
        }
    }
    recording
}

/// Joins conversations to one long call.
pub fn join(recordings: &[Recording]) -> Recording {
    let mut joined = Recording { name: recordings[0].name.clone(), ..Recording::default() };
    joined.system.clone_from(&recordings[0].system);
    (joined.id_end, joined.is_transcript) = (recordings[0].id_end, recordings[0].is_transcript);
    for (number, recording) in recordings.iter().enumerate() {
        joined.parts.push((recording.name.clone(), joined.items.len()));
        joined.acting.extend(recording.acting.iter().cloned());
        joined.originals.extend(recording.originals.clone());
        joined.items.extend(recording.items.iter().cloned().map(|item| match item {
            Item::Call { id, tool, arguments } => Item::Call { id: format!("{id}-{number}"), tool, arguments },
            Item::Result { id, text } => Item::Result { id: format!("{id}-{number}"), text },
            said => said,
        }));
    }
    joined
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|known| known == extension));
    paths.retain(|path| !path.ends_with("index.json"));
    paths.sort();
    paths
}
