//! [`Tool`]: something that the model may have done, and the tools of a call.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::message::{Invocation, InvocationError, InvocationResult, ResultContent, ToolName};
pub(super) use crate::model::failed;
use crate::model::{ToolSpec, run_tool};

/// What a [`Tool`] gives, later.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<ResultContent>, InvocationError>> + Send + 'a>>;

/// Something that the model may have done.
///
/// It runs in a task of its own and to its end, whether the caller breaks in or not: what it did must not be forgotten. A
/// panic in it is an error that the model is told, as is running out of time.
pub trait Tool: Send + Sync {
    /// Does it. The arguments are the model's: check them as you would a stranger's.
    fn call<'a>(&'a self, invocation: &'a Invocation) -> ToolFuture<'a>;
}

impl<F, R> Tool for F
where
    F: Fn(Invocation) -> R + Send + Sync,
    R: Future<Output = Result<Vec<ResultContent>, InvocationError>> + Send + 'static,
{
    fn call<'a>(&'a self, invocation: &'a Invocation) -> ToolFuture<'a> {
        Box::pin(self(invocation.clone()))
    }
}

/// The tools of a call.
#[derive(Clone, Default)]
pub(super) struct Tools {
    pub specs: Arc<[ToolSpec]>,
    /// The ones that run here; the service runs the others.
    handlers: BTreeMap<ToolName, Arc<dyn Tool>>,
}

impl Tools {
    pub fn add(&mut self, spec: ToolSpec, handler: Option<Arc<dyn Tool>>) {
        if let Some(handler) = handler {
            self.handlers.insert(spec.name.clone(), handler);
        }
        self.specs = self.specs.iter().filter(|known| known.name != spec.name).cloned().chain([spec.clone()]).collect();
    }

    pub fn handler(&self, name: &ToolName) -> Option<Arc<dyn Tool>> {
        self.handlers.get(name).cloned()
    }

    pub fn knows(&self, name: &ToolName) -> bool {
        self.specs.iter().any(|spec| spec.name == *name)
    }
}

/// Runs a tool to its end, to a panic, or out of time.
pub(super) async fn run(tool: Arc<dyn Tool>, invocation: Invocation, within: Duration) -> InvocationResult {
    let of = invocation.clone();
    run_tool(&of, async move { tool.call(&invocation).await }, within).await
}

/// The names, not what they do.
impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.specs.iter().map(|spec| &spec.name)).finish()
    }
}
