//! The format of `tau-airline`: a JSON object with `messages`, as OpenAI's chat API takes them.
//!
//! A message has a `role`: `system` (instructions), `user` (the caller), `assistant` (the agent, with or without
//! `tool_calls`) or `tool` (a result, by `tool_call_id`). Its `content` is a text or null; a blank text is no message. The
//! `arguments` of a tool call are a JSON object in a string. A result is kept exactly; one that starts with `Error:` is a
//! failure, and an empty one is a success without contents. A reused `id` of an answered call gets a number as suffix. A
//! tool call may have no result.
//!
//! The format has no times. The conversation starts on 2025-01-01 at 09:00 UTC. Everybody speaks 150 words a minute;
//! instructions, tool calls and results take 250 ms; a pause of 500 ms follows each event. Nobody interrupts.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};
use verbale::message::{Text, ToolCall, ToolError, ToolResult, Value, is_blank};

use super::error::{Problem, Refused, without_position};
use super::fields::Fields;
use super::{Event, EventKind};

/// A file whose object has this field is in this format.
pub const MESSAGES: &str = "messages";

const START_MS: i64 = 1_735_722_000_000;
const WORD_MS: i64 = 400;
const UNSPOKEN_MS: i64 = 250;
const PAUSE_MS: i64 = 500;

pub fn read(text: &str) -> Result<Vec<Event>, Refused> {
    let mut conversation = Conversation::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match Document(&mut conversation).deserialize(&mut deserializer).and_then(|()| deserializer.end()) {
        Ok(()) => Ok(conversation.events),
        Err(error) => {
            let problem = match conversation.refused {
                Some(problem) => Problem::Message { number: conversation.messages, problem: Box::new(problem) },
                None if error.is_data() => Problem::Not { field: MESSAGES, wanted: "a list of objects" },
                None => Problem::syntax(&error),
            };
            Err(problem.at_line(error.line()))
        }
    }
}

/// The conversation as far as it is read.
#[derive(Default)]
struct Conversation {
    events: Vec<Event>,
    messages: usize,
    /// The last call of each id in the file, and whether it waits for its result.
    calls: HashMap<String, (ToolCall, Wait)>,
    /// The ids in use.
    used: HashSet<String>,
    refused: Option<Problem>,
}

#[derive(PartialEq)]
enum Wait {
    Waiting,
    Answered,
}

impl Conversation {
    fn message(&mut self, message: Fields<'_>) -> Result<(), Problem> {
        match message.text("role")? {
            "system" => self.say(content(message)?, |text| EventKind::System(text.into()), |_| UNSPOKEN_MS),
            "user" => self.say(content(message)?, |text| EventKind::Caller(text.into()), spoken_ms),
            "assistant" => return self.assistant(message),
            "tool" => return self.result(message),
            _ => return Err(Problem::UnknownRole("`system`, `user`, `assistant`, `tool`")),
        }
        Ok(())
    }

    fn say(&mut self, text: Option<&str>, kind: fn(&str) -> EventKind, takes_ms: fn(&str) -> i64) {
        if let Some(text) = text {
            self.push(takes_ms(text), kind(text));
        }
    }

    fn assistant(&mut self, message: Fields<'_>) -> Result<(), Problem> {
        let text = message.optional_text("content")?.filter(|text| !is_blank(text));
        let mut calls = Vec::new();
        for call in message.optional_list("tool_calls")? {
            calls.push(self.call(Fields::of_json(call)?)?);
        }
        if text.is_some() || !calls.is_empty() {
            let duration_ms = text.map_or(UNSPOKEN_MS, spoken_ms);
            self.push(duration_ms, EventKind::Agent { text: text.map(Text::from), calls, played_ms: None });
        }
        Ok(())
    }

    fn call(&mut self, call: Fields<'_>) -> Result<ToolCall, Problem> {
        let id = call.text("id")?;
        let function = call.object("function")?;
        if self.calls.get(id).is_some_and(|(_, wait)| *wait == Wait::Waiting) {
            return Err(Problem::CallTwice);
        }
        let name = function.text("name")?;
        let tool_call = ToolCall::new(self.unused(id), name, arguments(function.text("arguments")?)?)?;
        self.used.insert(tool_call.id().as_str().to_owned());
        self.calls.insert(id.to_owned(), (tool_call.clone(), Wait::Waiting));
        Ok(tool_call)
    }

    /// Returns the id, with a number as suffix if it is in use. Providers refuse an id that occurs twice.
    fn unused(&self, id: &str) -> String {
        let numbered = (2..).map(|number| format!("{id}_{number}"));
        let mut ids = std::iter::once(id.to_owned()).chain(numbered);
        ids.find(|id| !self.used.contains(id)).unwrap_or_default()
    }

    fn result(&mut self, message: Fields<'_>) -> Result<(), Problem> {
        let content = content(message)?;
        let (call, wait) = self.calls.get_mut(message.text("tool_call_id")?).ok_or(Problem::ResultWithoutCall)?;
        if std::mem::replace(wait, Wait::Answered) == Wait::Answered {
            return Err(Problem::ResultTwice);
        }
        let result = result_of(call, content);
        self.push(UNSPOKEN_MS, EventKind::ToolResult(result));
        Ok(())
    }

    fn push(&mut self, duration_ms: i64, kind: EventKind) {
        let start_ms = self.events.last().map_or(START_MS, |last| last.end_ms.saturating_add(PAUSE_MS));
        self.events.push(Event { start_ms, end_ms: start_ms.saturating_add(duration_ms), kind });
    }
}

/// Returns `None` for a blank content.
fn content(message: Fields<'_>) -> Result<Option<&str>, Problem> {
    if !message.has("content") {
        return Err(Problem::Missing("content"));
    }
    Ok(message.optional_text("content")?.filter(|text| !is_blank(text)))
}

fn spoken_ms(text: &str) -> i64 {
    i64::try_from(text.split_whitespace().count()).unwrap_or(i64::MAX).saturating_mul(WORD_MS)
}

fn arguments(text: &str) -> Result<Value, Problem> {
    let json: Json = serde_json::from_str(text).map_err(|error| Problem::Arguments(without_position(&error)))?;
    if json.is_object() { Ok(Value::try_from(json)?) } else { Err(Problem::ArgumentsNotAnObject) }
}

fn result_of(call: &ToolCall, content: Option<&str>) -> ToolResult {
    match content {
        Some(text) if text.starts_with("Error:") => call.failure(ToolError::new(text)),
        content => call.success(Vec::from_iter(content)),
    }
}

/// The object with `messages`. They are read one at a time, so that an error has its line.
struct Document<'a>(&'a mut Conversation);

impl<'de> DeserializeSeed<'de> for Document<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            if key == MESSAGES {
                entries.next_value_seed(Messages(&mut *self.0))?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct Messages<'a>(&'a mut Conversation);

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut messages: A) -> Result<(), A::Error> {
        while messages.next_element_seed(Message(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

struct Message<'a>(&'a mut Conversation);

impl<'de> DeserializeSeed<'de> for Message<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Message<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        let object = Map::deserialize(MapAccessDeserializer::new(entries))?;
        self.0.messages += 1;
        self.0.message(Fields::of(&object)).map_err(|problem| {
            self.0.refused = Some(problem);
            // The message is in `refused`; this error carries the line.
            de::Error::custom("refused")
        })
    }
}
