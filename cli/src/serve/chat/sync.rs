//! [`take`]: brings a call up to a client's list of messages, and asks for the answer.

use std::collections::HashSet;
use std::sync::Arc;

use verbale::message::ToolName;

use super::request::{Author, Line, List};
use crate::serve::calls::Opened;
use crate::serve::error::ApiError;
use crate::serve::live::LiveCall;
use crate::serve::protocol::{ClientEvent, ToolDefinition};

/// The messages that a client has of a call. They are lost with the process; the log has the words.
#[derive(Default)]
pub struct Chat {
    /// The tools of the newest request.
    tools: Vec<ToolDefinition>,
    /// The speech of the newest answer, and its text as far as it was sent.
    speech: Option<String>,
    text: String,
    /// The newest request. A client that repeats it gets its answer again.
    newest: Option<Asked>,
    key: String,
    /// The number of the last message of the call that was sent.
    sent: u64,
    /// The ids of the tool calls that were sent.
    pub tool_calls: HashSet<String>,
    /// Counts the requests.
    number: u64,
}

/// A request that is to be answered.
#[derive(Clone)]
pub struct Asked {
    pub number: u64,
    /// The speech of the answer. `None` if the call has the answer, which is `text`.
    pub speech: Option<String>,
    /// The number of the last message of the call before the answer.
    pub after: u64,
    /// The text of the speech that earlier requests got; or all of it.
    pub text: String,
}

/// Takes what is new in the list, and asks for the answer to it.
///
/// Returns an error if there is nothing to answer, or if a tool is invalid.
pub fn take(opened: &Opened, tools: Vec<ToolDefinition>, list: &List) -> Result<Asked, ApiError> {
    let call = &opened.call;
    let mut chat = call.chat();
    chat.number += 1;
    if !chat.key.is_empty() && chat.key == list.key() {
        return chat.again(call);
    }
    let (known, new) = list.parts();
    if opened.is_resumed {
        chat.use_tools(call, tools)?;
    } else {
        chat.tools = tools;
        for line in known {
            import(call, line)?;
        }
    }
    let (said_before, said): (Vec<_>, Vec<_>) =
        new.iter().filter(|line| line.author == Author::User).partition(|line| call.has_seen(&event_id(line)));
    if !said.is_empty() {
        // Nothing was heard of an answer that stands between words of the caller, but not in the list.
        let kept = if said_before.is_empty() { list.last_answer() } else { Vec::new() };
        chat.report_heard(call, &kept);
    }
    for line in new {
        take_line(call, line)?;
    }
    let after = call.outbox.last();
    let (speech, after, text) = match call.answer() {
        Ok(speech) => (speech, after, String::new()),
        // The answer continues after its tools, or was begun when the call was resumed.
        Err(_) if call.is_answering() => match call.newest_answer() {
            Some(speech) if Some(&speech) == chat.speech.as_ref() => (speech, chat.sent, chat.text.clone()),
            Some(speech) => (speech, 0, String::new()),
            None => return Err(ApiError::busy("the call is closed")),
        },
        Err(_) => return known_answer(call, chat.number),
    };
    (chat.speech, chat.text) = (Some(speech.clone()), text.clone());
    let asked = Asked { number: chat.number, speech: Some(speech), after, text };
    (chat.newest, chat.key) = (Some(asked.clone()), list.key().to_owned());
    Ok(asked)
}

impl Chat {
    /// Returns the answer to the newest request once more. An answer that was stopped because its client was gone is asked for
    /// again: the caller has heard nothing of it.
    fn again(&mut self, call: &Arc<LiveCall>) -> Result<Asked, ApiError> {
        let Some(mut asked) = self.newest.clone() else { return known_answer(call, self.number) };
        if !call.is_answering() && call.session.is_answerable() {
            self.report_unheard(call);
            asked.after = call.outbox.last();
            asked.text = String::new();
            asked.speech = Some(call.answer().map_err(ApiError::busy)?);
        }
        asked.number = self.number;
        (self.speech, self.text) = (asked.speech.clone(), asked.text.clone());
        self.newest = Some(asked.clone());
        Ok(asked)
    }

    /// Offers the tools of a request, if they are others than before.
    fn use_tools(&mut self, call: &LiveCall, tools: Vec<ToolDefinition>) -> Result<(), ApiError> {
        if tools == self.tools {
            return Ok(());
        }
        let mut prompt = call.session.conversation().continuation();
        for before in self.tools.iter().filter(|before| tools.iter().all(|now| now.name != before.name)) {
            let name = before.name.parse::<ToolName>().map_err(ApiError::invalid)?;
            prompt = prompt.config(|config| config.without_tool(&name));
        }
        for definition in &tools {
            prompt = prompt.tool(call.tools.tool(definition).map_err(ApiError::invalid)?);
        }
        prompt.apply().map_err(ApiError::invalid)?;
        self.tools = tools;
        Ok(())
    }

    /// Reports how much of the newest answer the caller heard: the part that the client kept in its list. Other texts of the
    /// assistant are sentences that the client said by itself.
    fn report_heard(&mut self, call: &Arc<LiveCall>, kept: &[&str]) {
        let Some(speech) = self.speech.take() else { return };
        let text = std::mem::take(&mut self.text);
        let mut rest: Vec<&str> = text.split_whitespace().collect();
        let (mut heard, mut said) = (Vec::new(), Vec::new());
        for kept in kept {
            let words: Vec<&str> = kept.split_whitespace().collect();
            match words.first() == rest.first() {
                true => {
                    rest.drain(..words.len().min(rest.len()));
                    heard.extend(words);
                }
                false => said.push(*kept),
            }
        }
        let report = match (heard.is_empty(), rest.is_empty()) {
            (_, true) if !call.is_answering() => ClientEvent::PlaybackFinished { speech, at_ms: None },
            (true, _) => interrupted(speech, None),
            (false, _) => interrupted(speech, Some(heard.join(" "))),
        };
        // Fails if a sentence is refused. The caller heard it, but no answer depends on it.
        let _ = call.apply(None, report);
        for text in said {
            let _ = say_heard(call, text);
        }
    }

    fn report_unheard(&mut self, call: &Arc<LiveCall>) {
        if let Some(speech) = self.speech.take() {
            let _ = call.apply(None, interrupted(speech, None));
        }
    }

    /// Notes that a message of the call was sent to the client of a request, unless there is a newer one.
    pub fn note(&mut self, asked: &Asked, sent: u64, text: &str) {
        if self.is_newest(asked) {
            self.sent = self.sent.max(sent);
            self.text.push_str(text);
        }
    }

    pub fn is_newest(&self, asked: &Asked) -> bool {
        self.number == asked.number
    }
}

/// Takes a message of a conversation that began elsewhere into a new call.
fn import(call: &Arc<LiveCall>, line: &Line) -> Result<(), ApiError> {
    let is_blank = line.text.trim().is_empty();
    match line.author {
        Author::User => take_line(call, line),
        Author::Assistant if !is_blank => say_heard(call, &line.text).map_err(ApiError::invalid),
        // The outcome of an earlier tool is in the assistant's words.
        Author::Assistant | Author::System | Author::Tool(_) => Ok(()),
    }
}

fn take_line(call: &Arc<LiveCall>, line: &Line) -> Result<(), ApiError> {
    let event = match &line.author {
        Author::User => ClientEvent::CallerSaid {
            text: line.text.clone(),
            confidence: None,
            started_ms: None,
            ended_ms: None,
            reply: false,
        },
        Author::Tool(id) => ClientEvent::ToolResult {
            tool_call_id: id.clone(),
            not_found: false,
            output: Some(line.text.clone().into()),
            error: None,
        },
        Author::System if !call.mark_seen(&event_id(line)) => return Ok(()),
        Author::System => {
            let added = call.session.conversation().add_system(line.text.as_str());
            return added.map(drop).map_err(ApiError::invalid);
        }
        Author::Assistant => return Ok(()),
    };
    call.apply(Some(&event_id(line)), event).map(drop).map_err(ApiError::invalid)
}

/// Returns the id of a message of the list, under which the call knows it.
fn event_id(line: &Line) -> String {
    format!("chat:{}", line.key)
}

fn say_heard(call: &Arc<LiveCall>, text: &str) -> Result<(), String> {
    let speech = call.say(text.to_owned())?;
    call.apply(None, ClientEvent::PlaybackFinished { speech, at_ms: None }).map(drop)
}

/// The report of a speech that was heard up to these words; without them, nothing of it was.
fn interrupted(speech: String, words: Option<String>) -> ClientEvent {
    let played_ms = if words.is_none() { Some(0) } else { None };
    ClientEvent::PlaybackInterrupted { speech, words, played_ms, total_ms: None, at_ms: None }
}

/// Returns the answer that the log has, for a request that was answered before.
fn known_answer(call: &LiveCall, number: u64) -> Result<Asked, ApiError> {
    let text = call.last_answer().ok_or_else(|| ApiError::invalid("the list has nothing new to answer"))?;
    Ok(Asked { number, speech: None, after: 0, text })
}
