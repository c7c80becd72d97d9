//! [`Windows`]: the requests that a model would get during a call, validated against Bedrock's rules.

use std::collections::BTreeSet;

use aws_sdk_bedrockruntime::error::BuildError;
use aws_sdk_bedrockruntime::types::{self, Tool, ToolConfiguration, ToolInputSchema, ToolSpecification};
use aws_smithy_types::Document;
use verbale::bedrock::{BedrockMessage, ConverseRequest, Profile, validate};
use verbale::{MessageWrapper, MessagesManager, Role};

use crate::demo::error::PlayError;
use crate::demo::script::{EventKind, Script};
use crate::text::texts_of;

const MODEL: &str = "eu.anthropic.claude-sonnet-5";
const SYSTEM_PROMPT: &str = "You answer the phone. What you write is spoken: be brief, and use no lists.";

/// Builds and validates the requests of a call, with the tools that its script calls.
pub struct Windows {
    tools: Option<ToolConfiguration>,
    checked: usize,
}

impl Windows {
    pub fn of(script: &Script) -> Result<Self, BuildError> {
        let calls = script.events.iter().filter_map(|event| match &event.kind {
            EventKind::Agent { calls, .. } => Some(calls),
            _ => None,
        });
        let names: BTreeSet<&str> = calls.flatten().map(|call| call.name().as_str()).collect();
        let tools = names.into_iter().map(tool).collect::<Result<Vec<_>, _>>()?;
        let tools = (!tools.is_empty()).then(|| ToolConfiguration::builder().set_tools(Some(tools)).build());
        Ok(Self { tools: tools.transpose()?, checked: 0 })
    }

    /// Returns the messages of the request that a model would get now. They are empty if nobody has spoken since the last
    /// summary.
    ///
    /// Returns [`PlayError::Refused`] if Bedrock would refuse the request, which is a bug.
    pub fn now(&mut self, manager: &MessagesManager<BedrockMessage>) -> Result<Vec<types::Message>, PlayError> {
        let messages = manager.to_raw()?;
        if messages.is_empty() {
            return Ok(messages);
        }
        let summary = manager.last_summary().map(|summary| texts_of(summary.message()));
        let mut request =
            ConverseRequest::new(MODEL).system(SYSTEM_PROMPT).summary(summary.as_deref()).messages(messages);
        if let Some(tools) = &self.tools {
            request = request.tools(tools.clone());
        }
        let input = request.into_input()?;
        let mut violations = validate(&input, &Profile::for_model(MODEL));
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

fn tool(name: &str) -> Result<Tool, BuildError> {
    let any_object = Document::Object([("type".to_owned(), "object".into())].into());
    let specification = ToolSpecification::builder().name(name).input_schema(ToolInputSchema::Json(any_object));
    Ok(Tool::ToolSpec(specification.build()?))
}

fn speaks_last(manager: &MessagesManager<BedrockMessage>) -> Option<Role> {
    manager.meta_messages().iter().rev().map(|wrapper| wrapper.role()).find(|role| role.is_spoken())
}
