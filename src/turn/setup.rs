//! [`Setup`]: the configuration of a turn, and [`Tools`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::contents::ContentStore;
use crate::memory::FactFinder;
use crate::message::{Rarely, Text, ToolName};
use crate::model::{Inference, Model, Tool, ToolSpec};
use crate::policy::Tokens;

/// The configuration of a turn. Each request reads it, so a change takes effect with the next request.
#[derive(Clone)]
pub(crate) struct Setup {
    /// The model and the service's name for it.
    pub model: Option<(Text, Arc<dyn Model>)>,
    pub tools: Tools,
    pub inference: Rarely<Inference>,
    /// The deadline for the first words of a turn. It excludes the time of tools, which have their own deadlines.
    pub first_token_timeout: Duration,
    /// The maximum pause between two events after the first words.
    pub event_timeout: Duration,
    /// The deadline for a whole turn, without the time of its tools.
    pub turn_timeout: Option<Duration>,
    pub tool_timeout: Duration,
    /// The maximum time that a tool which acts once waits for the log.
    pub log_timeout: Duration,
    /// The maximum size of a tool's result, in bytes. The rest is cut off.
    pub max_result_bytes: usize,
    pub max_tool_rounds: u32,
    pub max_window: Tokens,
    /// The maximum length of the memory, without the tokens for acts.
    pub memory: Tokens,
    /// The maximum length of instructions, memory and window together.
    pub budget: Option<Tokens>,
    pub fact_finder: Arc<dyn FactFinder>,
    pub contents: Option<Arc<dyn ContentStore>>,
}

/// The tools that a model may call, in the order in which they were added.
#[derive(Clone)]
pub(crate) struct Tools {
    tools: Arc<[Tool]>,
    specs: Arc<[ToolSpec]>,
}

impl Tools {
    /// Adds a tool, or replaces the one with the same name.
    pub fn with(&self, tool: Tool) -> Self {
        let mut tools = self.tools.to_vec();
        match tools.iter_mut().find(|known| known.name() == tool.name()) {
            Some(known) => *known = tool,
            None => tools.push(tool),
        }
        Self::of(tools)
    }

    /// Removes a tool.
    pub fn without(&self, name: &ToolName) -> Self {
        Self::of(self.tools.iter().filter(|tool| tool.name() != name).cloned().collect())
    }

    pub fn get(&self, name: &ToolName) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    pub fn all(&self) -> &[Tool] {
        &self.tools
    }

    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    fn of(tools: Vec<Tool>) -> Self {
        Self { specs: tools.iter().map(|tool| tool.spec().clone()).collect(), tools: tools.into() }
    }
}

impl Default for Tools {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

/// Shows the names.
impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.specs.iter().map(|spec| &spec.name)).finish()
    }
}
