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

/// What the caller says before an assistant that greets first.
const HELLO: &str = "hello";

/// Reads conversations in the chat format of OpenAI: a list of messages, or an object that has it as `messages`. Prints
/// which files it skips, and why.
pub fn chats(folder: &Path) -> Vec<Recording> {
    let read = |path: &PathBuf| match chat(path) {
        Ok(recording) => Some(recording),
        Err(reason) => {
            println!("skipped: {}: {reason}", path.display());
            None
        }
    };
    files(folder, "json").iter().filter_map(read).collect()
}

fn chat(path: &Path) -> Result<Recording, String> {
    let read = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let read: Json = serde_json::from_str(&read).map_err(|error| error.to_string())?;
    let messages = read.as_array().or_else(|| read["messages"].as_array()).ok_or("it has no list of messages")?;
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut recording = Recording { parts: vec![(name.clone(), 0)], name, id_end: "_id", ..Recording::default() };
    for (number, message) in messages.iter().enumerate() {
        recording.add(message, number).map_err(|reason| format!("message {number} {reason}"))?;
    }
    recording.end_turn();
    if recording.items.is_empty() { Err("it has no messages".into()) } else { Ok(recording) }
}

/// Returns the text of a message, which can be a list of parts.
fn text_of(message: &Json) -> String {
    let parts = message["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    message["content"].as_str().map_or_else(|| parts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

impl Recording {
    /// Adds a message of a chat.
    fn add(&mut self, message: &Json, number: usize) -> Result<(), &'static str> {
        let text = text_of(message).trim().to_owned();
        match message["role"].as_str().ok_or("has no role")? {
            "system" | "developer" => self.system = text,
            "user" if text.is_empty() => {}
            "user" => {
                self.end_turn();
                self.items.push(Item::Caller(text));
            }
            "tool" => {
                let open = |item: &&Item| matches!(item, Item::Call { .. });
                // Ids are not unique in some recordings, but results follow their calls.
                let Some(Item::Call { id, .. }) = self.items.iter().rev().find(open) else {
                    return Err("is a result without a call");
                };
                let (id, text) = (id.clone(), text_of(message));
                self.items.push(Item::Result { id, text });
            }
            _ => {
                if self.items.is_empty() {
                    self.items.push(Item::Caller(HELLO.into()));
                }
                match self.items.last_mut() {
                    _ if text.is_empty() => {}
                    Some(Item::Assistant(last)) => *last = format!("{last}\n{text}"),
                    _ => self.items.push(Item::Assistant(text)),
                }
                for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
                    let function = &call["function"];
                    let arguments = function["arguments"].as_str().and_then(|json| serde_json::from_str(json).ok());
                    let arguments = arguments.ok_or("has a call without arguments in JSON")?;
                    let tool = function["name"].as_str().ok_or("has a call without a name")?.to_owned();
                    self.acting.extend(acts(&tool).then(|| tool.clone()));
                    self.items.push(Item::Call { id: format!("c{number}-{index}"), tool, arguments });
                }
            }
        }
        Ok(())
    }
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
            None => recording.items.extend([Item::Caller(HELLO.into()), Item::Assistant(text)]),
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
