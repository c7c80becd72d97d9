//! A recorded conversation: words, tool calls and their results.

use std::path::Path;

use serde_json::Value as Json;
use verbale::{Content, Role};

/// The beginning of the result of a failed tool.
const ERROR: &str = "Error";

/// The answer to the last result of a tool, which some recordings lack.
const FAREWELL: &str = "Thank you for calling.";

pub struct Recording {
    pub name: String,
    pub system: String,
    /// The first words of the assistant.
    pub greeting: Option<String>,
    pub turns: Vec<Turn>,
}

/// The caller's words and the answers to them. There are none if the caller hangs up.
pub struct Turn {
    pub caller: String,
    pub answers: Vec<Answer>,
}

/// The answer to one request: words, tool calls, or both.
#[derive(Clone)]
pub struct Answer {
    pub text: String,
    pub calls: Vec<Call>,
}

/// A tool call and its result.
#[derive(Clone)]
pub struct Call {
    /// Not unique in some recordings.
    pub id: String,
    pub tool: String,
    pub arguments: Json,
    pub result: String,
}

/// A content of a conversation, without ids, because the session replaces repeated ones.
#[derive(Debug, PartialEq)]
pub enum Said {
    Caller(String),
    Assistant(String),
    Called(String, Json),
    Done(String),
    Failed(String),
}

impl Call {
    pub fn has_failed(&self) -> bool {
        self.result.starts_with(ERROR)
    }
}

impl Recording {
    /// Returns the answers, one per request.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.turns.iter().flat_map(|turn| &turn.answers)
    }

    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.answers().flat_map(|answer| &answer.calls)
    }

    pub fn said(&self) -> Vec<Said> {
        let mut said = Vec::new();
        for turn in &self.turns {
            said.push(Said::Caller(turn.caller.clone()));
            for answer in &turn.answers {
                said.extend((!answer.text.is_empty()).then(|| Said::Assistant(answer.text.clone())));
                let called = |call: &Call| Said::Called(call.tool.clone(), call.arguments.clone());
                said.extend(answer.calls.iter().map(called));
                let result =
                    |call: &Call| if call.has_failed() { Said::Failed } else { Said::Done }(call.result.clone());
                said.extend(answer.calls.iter().map(result));
            }
        }
        said
    }

    fn read(path: &Path) -> Self {
        let conversation: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let messages = conversation["messages"].as_array().unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut recording = Self { name, system: text(&messages[0]), greeting: None, turns: Vec::new() };
        for message in &messages[1..] {
            match message["role"].as_str().unwrap() {
                "user" => recording.turns.push(Turn { caller: text(message), answers: Vec::new() }),
                "assistant" => {
                    let calls = message["tool_calls"].as_array().into_iter().flatten().map(called).collect();
                    let answer = Answer { text: text(message), calls };
                    recording.turns.last_mut().unwrap().answers.push(answer);
                }
                _ => {
                    let calls =
                        recording.turns.last_mut().unwrap().answers.iter_mut().flat_map(|answer| &mut answer.calls);
                    let call = calls.rev().find(|call| call.id == message["tool_call_id"]).unwrap();
                    call.result = text(message);
                }
            }
        }
        let last = recording.turns.last_mut().unwrap();
        if last.answers.last().is_some_and(|answer| !answer.calls.is_empty()) {
            last.answers.push(Answer { text: FAREWELL.to_owned(), calls: Vec::new() });
        }
        recording
    }
}

impl Said {
    pub fn of(role: Role, content: &Content) -> Self {
        match content {
            Content::Text(text) if role == Role::User => Self::Caller(text.as_str().to_owned()),
            Content::Text(text) => Self::Assistant(text.as_str().to_owned()),
            Content::ToolCall(call) => {
                Self::Called(call.name().to_string(), Json::try_from(call.arguments().clone()).unwrap())
            }
            Content::ToolResult(result) => match result.outcome() {
                Ok(contents) => {
                    let texts = contents.iter().map(|content| match content {
                        verbale::message::ResultContent::Text(text) => text.as_str(),
                        other => panic!("{other:?}"),
                    });
                    Self::Done(texts.collect())
                }
                Err(error) => Self::Failed(error.message().to_owned()),
            },
            other => panic!("{other:?}"),
        }
    }
}

fn text(message: &Json) -> String {
    message["content"].as_str().unwrap_or_default().to_owned()
}

fn called(call: &Json) -> Call {
    let function = &call["function"];
    Call {
        id: call["id"].as_str().unwrap().to_owned(),
        tool: function["name"].as_str().unwrap().to_owned(),
        arguments: serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap(),
        result: String::new(),
    }
}

/// Returns the recordings beside the project. Prints a note if there are none.
pub fn all() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/tau-airline");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: there is no {}", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| Recording::read(path)).collect()
}
