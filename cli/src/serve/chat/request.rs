//! [`ChatRequest`]: the body of `POST /v1/chat/completions`, and what its list of messages has.

use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use verbale::log::CallId;

use crate::serve::error::ApiError;
use crate::serve::protocol::{Start, ToolDefinition};

/// The header with the id of the call.
const CALL: &str = "x-verbale-call";

/// The body. Other fields of OpenAI's interface, such as `temperature`, have no effect.
#[derive(Deserialize)]
pub struct ChatRequest {
    pub model: Option<String>,
    messages: Vec<ChatMessage>,
    tools: Option<Vec<OfferedTool>>,
    pub stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    user: Option<String>,
    /// The call, as Vapi names it.
    call: Option<NamedCall>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Deserialize)]
struct NamedCall {
    id: String,
}

#[derive(Deserialize)]
struct ChatMessage {
    role: String,
    content: Option<ChatContent>,
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ChatContent {
    Text(String),
    Parts(Vec<ChatPart>),
}

#[derive(Deserialize)]
struct ChatPart {
    text: Option<String>,
}

/// A tool of the client. Beside OpenAI's fields, it may have those of a [`ToolDefinition`], such as `acts_once`.
#[derive(Deserialize)]
struct OfferedTool {
    function: Function,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    acts_once: bool,
    #[serde(default)]
    deduplicates_by_key: bool,
    timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
}

/// A message after the instructions.
pub struct Line {
    pub author: Author,
    pub text: String,
    /// Names the message with all messages before it, so that a list that is sent again has the same keys.
    pub key: String,
}

/// Who wrote a message.
#[derive(Clone, PartialEq, Eq)]
pub enum Author {
    System,
    User,
    Assistant,
    /// A tool, with the id of its call.
    Tool(String),
}

/// The messages of a request.
pub struct List {
    pub instructions: Option<String>,
    pub lines: Vec<Line>,
}

impl ChatRequest {
    /// Returns the id of the call: from the header, `user`, or Vapi's `call`.
    pub fn call_id(&self, headers: &HeaderMap) -> Result<CallId, ApiError> {
        let header = headers.get(CALL).and_then(|value| value.to_str().ok());
        let id = header.or(self.user.as_deref()).or(self.call.as_ref().map(|call| call.id.as_str()));
        let id =
            id.ok_or_else(|| ApiError::invalid("the request names no call: set the header X-Verbale-Call or `user`"))?;
        CallId::new(id).map_err(ApiError::invalid)
    }

    pub fn includes_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    /// Returns how the call is opened, and the messages of the list.
    ///
    /// Returns an error, without words of the list, if a message is no text.
    pub fn read(self) -> Result<(Start, List), ApiError> {
        let tools = self.tools.unwrap_or_default().into_iter().map(OfferedTool::definition).collect();
        let list = List::of(self.messages)?;
        Ok((Start { system: list.instructions.clone(), tools, ..Start::default() }, list))
    }
}

impl List {
    fn of(messages: Vec<ChatMessage>) -> Result<Self, ApiError> {
        let (mut instructions, mut lines) = (Vec::new(), Vec::new());
        let mut before = Sha256::new();
        for message in messages {
            let text = message.content.map_or_else(|| Ok(String::new()), ChatContent::text)?;
            let author = match (message.role.as_str(), message.tool_call_id) {
                ("system" | "developer", _) if lines.is_empty() => {
                    instructions.push(text);
                    continue;
                }
                ("system" | "developer", _) => Author::System,
                ("user", _) => Author::User,
                ("assistant", _) => Author::Assistant,
                ("tool", Some(id)) => Author::Tool(id),
                _ => return Err(ApiError::invalid("a message has an unknown role, or a tool's has no tool_call_id")),
            };
            before.update(message.role.as_bytes());
            before.update((text.len() as u64).to_be_bytes());
            before.update(text.as_bytes());
            let digest = before.clone().finalize();
            let key = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
            lines.push(Line { author, text, key });
        }
        let instructions = Some(instructions.join("\n\n")).filter(|text| !text.trim().is_empty());
        Ok(Self { instructions, lines })
    }

    /// Returns the messages of earlier turns, and those after the assistant's last one.
    pub fn parts(&self) -> (&[Line], &[Line]) {
        let last = self.lines.iter().rposition(|line| line.author == Author::Assistant);
        self.lines.split_at(last.map_or(0, |last| last + 1))
    }

    /// Returns what the assistant said after the user's last words before the new ones.
    pub fn last_answer(&self) -> Vec<&str> {
        let (known, _) = self.parts();
        let answer = known.iter().rev().take_while(|line| line.author != Author::User);
        let mut texts: Vec<_> = answer
            .filter(|line| line.author == Author::Assistant && !line.text.trim().is_empty())
            .map(|line| line.text.as_str())
            .collect();
        texts.reverse();
        texts
    }

    /// Names the whole list.
    pub fn key(&self) -> &str {
        self.lines.last().map_or("", |line| line.key.as_str())
    }
}

impl ChatContent {
    fn text(self) -> Result<String, ApiError> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Parts(parts) => {
                let texts: Option<Vec<_>> = parts.into_iter().map(|part| part.text).collect();
                Ok(texts.ok_or_else(|| ApiError::invalid("a part of a message is no text"))?.join("\n"))
            }
        }
    }
}

impl OfferedTool {
    fn definition(self) -> ToolDefinition {
        ToolDefinition {
            name: self.function.name,
            description: self.function.description.unwrap_or_default(),
            input_schema: self.function.parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
            read_only: self.read_only,
            acts_once: self.acts_once,
            deduplicates_by_key: self.deduplicates_by_key,
            can_look_up: false,
            timeout_ms: self.timeout_ms,
            callback: None,
        }
    }
}
