//! [`Windows`]: the requests that a model would get during a call, validated against Bedrock's rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_sdk_bedrockruntime::types;
use serde_json::json;
use verbale::bedrock::{BedrockMessage, converse_input, validate};
use verbale::message::MessageError;
use verbale::model::{ModelRequest, ToolSpec};
use verbale::{MessageWrapper, MessagesManager, Role};

use crate::demo::error::PlayError;
use crate::demo::script::{EventKind, Script};
use crate::text::texts_of;

const MODEL: &str = "eu.anthropic.claude-sonnet-5";
const SYSTEM_PROMPT: &str = "You answer the phone. What you write is spoken: be brief, and use no lists.";

/// Builds and validates the requests of a call, with the tools that its script calls.
pub struct Windows {
    tools: Arc<[ToolSpec]>,
    checked: usize,
}

impl Windows {
    pub fn of(script: &Script) -> Result<Self, MessageError> {
        let calls = script.events.iter().filter_map(|event| match &event.kind {
            EventKind::Agent { calls, .. } => Some(calls),
            _ => None,
        });
        let names: BTreeSet<&str> = calls.flatten().map(|call| call.name().as_str()).collect();
        let tools = names.into_iter().map(|name| ToolSpec::new(name, "", json!({"type": "object"})));
        Ok(Self { tools: tools.collect::<Result<_, _>>()?, checked: 0 })
    }

    /// Returns the messages of the request that a model would get now. They are empty if nobody has spoken since the last
    /// summary.
    ///
    /// Returns [`PlayError::Refused`] if Bedrock would refuse the request, which is a bug.
    pub fn now(&mut self, manager: &MessagesManager<BedrockMessage>) -> Result<Vec<types::Message>, PlayError> {
        let window: Vec<_> = manager.messages().map(|message| message.message().clone()).collect();
        if window.is_empty() {
            return Ok(Vec::new());
        }
        let mut request = ModelRequest::new(window);
        request.tools = Arc::clone(&self.tools);
        request.system.push(SYSTEM_PROMPT.into());
        request.memory = manager.last_summary().map(|summary| texts_of(summary.message()).into());
        let input = converse_input(MODEL, &request)?;
        let mut violations = validate(&input);
        // No model is asked while the assistant speaks.
        if speaks_last(manager) != Some(Role::User) {
            violations.retain(|violation| !matches!(violation.rule(), "ends-with-user" | "text-trailing-space"));
        }
        if !violations.is_empty() {
            return Err(PlayError::Refused { messages: manager.meta_messages().len(), violations });
        }
        self.checked += 1;
        Ok(input.messages.unwrap_or_default())
    }

    /// Returns the number of validated windows.
    pub fn checked(&self) -> usize {
        self.checked
    }
}

fn speaks_last(manager: &MessagesManager<BedrockMessage>) -> Option<Role> {
    manager.meta_messages().iter().rev().map(|wrapper| wrapper.role()).find(|role| role.is_spoken())
}
