//! [`ClientTools`]: the tools of a call that its client runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::oneshot;
use verbale::Value;
use verbale::message::{MessageError, ResultContent, ToolError};
use verbale::model::{Tool, ToolContext, ToolSpec};

use super::outbox::Outbox;
use super::protocol::{ServerEvent, ToolDefinition};

/// What a tool returned; `None` if there was no such act.
pub type Output = Result<Option<Vec<ResultContent>>, ToolError>;

/// The tool calls that wait for their results, by their ids.
pub struct ClientTools {
    outbox: Arc<Outbox>,
    waiting: Mutex<HashMap<String, oneshot::Sender<Output>>>,
}

impl ClientTools {
    pub fn new(outbox: Arc<Outbox>) -> Self {
        Self { outbox, waiting: Mutex::default() }
    }

    /// Returns a tool whose calls go to the client.
    ///
    /// Returns an error if its name or schema is invalid.
    pub fn tool(self: &Arc<Self>, definition: &ToolDefinition) -> Result<Tool, MessageError> {
        let spec =
            ToolSpec::new(definition.name.as_str(), definition.description.as_str(), definition.input_schema.clone())?;
        let (tools, name) = (self.clone(), definition.name.clone());
        let mut tool = Tool::raw(spec, move |arguments, context| {
            let (tools, name) = (tools.clone(), name.clone());
            async move {
                let arguments = serde_json::to_value(arguments).unwrap_or_default();
                let called = |tool_call_id, idempotency_key| ServerEvent::ToolCalled {
                    tool_call_id,
                    name,
                    arguments,
                    idempotency_key,
                };
                tools.ask(&context, called).await?.ok_or_else(|| ToolError::new("the client did nothing"))
            }
        });
        if definition.read_only {
            tool = tool.read_only();
        }
        if definition.acts_once {
            tool = tool.acts_once();
        }
        if definition.deduplicates_by_key {
            tool = tool.deduplicates_by_key();
        }
        if definition.can_look_up {
            let (tools, name) = (self.clone(), definition.name.clone());
            tool = tool.resume(move |context| {
                let (tools, name) = (tools.clone(), name.clone());
                async move {
                    let lookup =
                        |tool_call_id, idempotency_key| ServerEvent::ToolLookup { tool_call_id, name, idempotency_key };
                    tools.ask(&context, lookup).await
                }
            });
        }
        if let Some(timeout_ms) = definition.timeout_ms {
            tool = tool.with_timeout(Duration::from_millis(timeout_ms));
        }
        Ok(tool)
    }

    /// Sends a question to the client, and waits for its answer.
    async fn ask(&self, context: &ToolContext, question: impl FnOnce(String, String) -> ServerEvent) -> Output {
        let id = context.tool_call_id().to_string();
        let (sender, result) = oneshot::channel();
        self.waiting().insert(id.clone(), sender);
        self.outbox.push(&question(id, context.idempotency_key().to_owned()));
        result.await.unwrap_or_else(|_| Err(ToolError::new("the client of the call is gone")))
    }

    /// Passes a result on to the waiting call. Returns the result if no call waits for it.
    pub fn finish(&self, tool_call_id: &str, output: Output) -> Option<Output> {
        match self.waiting().remove(tool_call_id) {
            Some(waiting) => waiting.send(output).err(),
            None => Some(output),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Output>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what a client sent as a result.
///
/// Returns the reason if it is none.
pub fn output(output: Option<Json>, error: Option<String>, not_found: bool) -> Result<Output, String> {
    if not_found {
        return Ok(Ok(None));
    }
    match (output, error) {
        (None, Some(error)) => Ok(Err(ToolError::new(error))),
        (Some(Json::String(text)), None) => Ok(Ok(Some(vec![text.into()]))),
        (Some(json), None) => {
            let value = Value::try_from(json).map_err(|error| format!("the output cannot be stored: {error}"))?;
            Ok(Ok(Some(vec![ResultContent::Json(value)])))
        }
        _ => Err("a tool result has either an output or an error".to_owned()),
    }
}
