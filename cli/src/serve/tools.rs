//! [`ClientTools`]: the tools of a call that its client or a service runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::oneshot;
use verbale::Value;
use verbale::message::{ResultContent, ToolError};
use verbale::model::{Tool, ToolContext, ToolSpec};

use super::callback::{Callback, Callbacks};
use super::outbox::Outbox;
use super::protocol::{ServerEvent, ToolDefinition};

/// The result of a tool; `None` if there was no such act.
pub type Output = Result<Option<Vec<ResultContent>>, ToolError>;

/// The tool calls that wait for their results, by their ids.
pub struct ClientTools {
    outbox: Arc<Outbox>,
    callbacks: Option<Arc<Callbacks>>,
    waiting: Mutex<HashMap<String, oneshot::Sender<Output>>>,
}

/// Who runs a tool.
#[derive(Clone)]
enum Runner {
    Client(Arc<ClientTools>),
    Service(Arc<Callback>),
}

impl Runner {
    async fn ask(&self, context: &ToolContext, question: ServerEvent) -> Output {
        match self {
            Self::Client(tools) => tools.ask(context, question).await,
            Self::Service(callback) => callback.ask(context, &question).await,
        }
    }
}

impl ClientTools {
    pub fn new(outbox: Arc<Outbox>, callbacks: Option<Arc<Callbacks>>) -> Self {
        Self { outbox, callbacks, waiting: Mutex::default() }
    }

    /// Returns a tool whose calls go to the client, or to the service of its callback.
    ///
    /// Returns an error if its name or schema is invalid, or its callback not allowed.
    pub fn tool(self: &Arc<Self>, definition: &ToolDefinition) -> Result<Tool, String> {
        let (name, description) = (definition.name.as_str(), definition.description.as_str());
        let spec =
            ToolSpec::new(name, description, definition.input_schema.clone()).map_err(|error| error.to_string())?;
        let mut timeout = definition.timeout_ms.map(Duration::from_millis);
        let runner = match (&definition.callback, &self.callbacks) {
            (None, _) => Runner::Client(self.clone()),
            (Some(url), Some(callbacks)) => {
                let callback = callbacks.of(url, definition)?;
                timeout = Some(callback.timeout);
                Runner::Service(Arc::new(callback))
            }
            (Some(_), None) => return Err("the server allows no callbacks; start it with --callback URL".to_owned()),
        };
        let (asked, name) = (runner.clone(), definition.name.clone());
        let mut tool = Tool::raw(spec, move |arguments, context| {
            let (runner, name) = (asked.clone(), name.clone());
            async move {
                let arguments = serde_json::to_value(arguments).unwrap_or_default();
                let (tool_call_id, idempotency_key) = ids(&context);
                let called = ServerEvent::ToolCalled { tool_call_id, name, arguments, idempotency_key };
                runner.ask(&context, called).await?.ok_or_else(|| ToolError::new("the tool did nothing"))
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
            let name = definition.name.clone();
            tool = tool.resume(move |context| {
                let (runner, name) = (runner.clone(), name.clone());
                async move {
                    let (tool_call_id, idempotency_key) = ids(&context);
                    runner.ask(&context, ServerEvent::ToolLookup { tool_call_id, name, idempotency_key }).await
                }
            });
        }
        if let Some(timeout) = timeout {
            tool = tool.with_timeout(timeout);
        }
        Ok(tool)
    }

    /// Sends a question to the client, and waits for its answer.
    async fn ask(&self, context: &ToolContext, question: ServerEvent) -> Output {
        let (sender, result) = oneshot::channel();
        self.waiting().insert(context.tool_call_id().to_string(), sender);
        self.outbox.push_after_words(question);
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

/// Returns the id of a tool call, and its idempotency key.
fn ids(context: &ToolContext) -> (String, String) {
    (context.tool_call_id().to_string(), context.idempotency_key().to_owned())
}

/// Returns what a client or a service sent as a result.
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
