//! The airline of a recording: its model, its tools, and a call with both.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use tokio::time::{Instant, sleep};
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::call::{CallBuilder, CallSession};
use verbale::clock::{Clock, SequentialIds};
use verbale::conversation::Config;
use verbale::log::CallWriter;
use verbale::memory::ModelSummarizer;
use verbale::message::{ResultContent, ToolName};
use verbale::model::{Tool, ToolContext, ToolError, ToolSpec};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Policy, ToolCall, Value};

use crate::START_MS;
use crate::recording::{Answer, Call, Recording};

const MODEL_ID: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";

/// Mentions no tool call, so the prompt has to get them from the tool history.
pub const SUMMARY: &str = "The caller asked the airline for something, and the two talked about it.";

pub struct Airline {
    pub turns: FakeBedrock,
    pub summaries: FakeBedrock,
    tools: Vec<String>,
    is_read_only: fn(&str) -> bool,
    /// The recorded tool calls that are still to come.
    calls: Arc<Mutex<VecDeque<Call>>>,
}

impl Airline {
    pub fn new(recording: &Recording) -> Self {
        let answers: Mutex<VecDeque<Answer>> = Mutex::new(recording.answers().cloned().collect());
        let turns = FakeBedrock::answering(move |_| {
            let answer = answers.lock().unwrap().pop_front();
            answer.map_or_else(|| panic!("the recording is over"), |answer| reply(&answer))
        });
        // Longer than the playback of a reply, so the summary arrives in the next turn.
        let summaries =
            FakeBedrock::answering(|_| ScriptedReply::text(SUMMARY).first_token_after(Duration::from_millis(1_500)));
        let tools: BTreeSet<String> = recording.calls().map(|call| call.tool.clone()).collect();
        let calls = Arc::new(Mutex::new(recording.calls().cloned().collect()));
        Self { turns, summaries, tools: tools.into_iter().collect(), is_read_only: |_| false, calls }
    }

    /// Declares which tools only read, as a service does: their calls do not wait for the log.
    pub fn with_read_only(mut self, is_read_only: fn(&str) -> bool) -> Self {
        self.is_read_only = is_read_only;
        self
    }

    pub fn open(&self, log: CallWriter, policy: Policy, system: &str) -> CallSession {
        let model = BedrockModel::for_turns(
            Client::from_conf(turn_client(self.turns.sdk_config()).build()),
            BedrockSettings::new(MODEL_ID),
        );
        let summarizer = ModelSummarizer::new(BedrockModel::for_summaries(
            Client::from_conf(summary_client(self.summaries.sdk_config()).build()),
            BedrockSettings::new(MODEL_ID),
        ));
        let config = |config: Config| {
            // The recordings are typed chats with up to 26 tool calls in a row.
            let config = config.with_policy(policy).with_max_window(1_000_000).with_max_tool_rounds(27);
            config.with_first_token_timeout(Duration::from_secs(60)).with_all_messages(true)
        };
        let call = CallBuilder::new(model)
            .system(system)
            .summarizer(summarizer)
            .config(config)
            .clock(Arc::new(TokioClock(Instant::now())), Arc::new(SequentialIds::default()))
            .log(log);
        let call = self.tools.iter().fold(call, |call, tool_name| {
            let schema = Value::map([("type", Value::from("object"))]).unwrap();
            let spec = ToolSpec::new(tool_name.as_str(), "A tool of the airline.", schema).unwrap();
            let (calls, name) = (self.calls.clone(), spec.name.clone());
            let tool = if self.is_external(&name) {
                Tool::external(spec)
            } else {
                Tool::raw(spec, move |arguments: Value, _: ToolContext| {
                    let (calls, name) = (calls.clone(), name.clone());
                    async move {
                        sleep(Duration::from_millis(200)).await;
                        act(&calls, &name, &arguments).map_err(ToolError::new)
                    }
                })
            };
            call.tool(if (self.is_read_only)(tool_name) { tool.read_only() } else { tool })
        });
        call.open().unwrap()
    }

    /// Returns whether the service runs the tool. Every second tool is external.
    pub fn is_external(&self, tool: &ToolName) -> bool {
        self.tools.iter().position(|known| known == tool.as_str()).unwrap() % 2 == 1
    }

    pub fn act(&self, tool_call: &ToolCall) -> Result<Vec<ResultContent>, String> {
        act(&self.calls, tool_call.name(), tool_call.arguments())
    }
}

/// Returns whether a tool changes nothing, by its name.
pub fn is_lookup(tool: &str) -> bool {
    ["get_", "search_", "list_", "calculate", "think"].iter().any(|lookup| tool.starts_with(lookup))
}

/// Returns the recorded result of the next tool call, which must equal the recorded call.
fn act(calls: &Mutex<VecDeque<Call>>, tool: &ToolName, arguments: &Value) -> Result<Vec<ResultContent>, String> {
    let call = calls.lock().unwrap().pop_front().unwrap();
    assert_eq!(tool.as_str(), call.tool);
    assert_eq!(*arguments, Value::try_from(call.arguments.clone()).unwrap());
    if call.has_failed() {
        return Err(call.result);
    }
    Ok(vec![call.result.into()])
}

fn reply(answer: &Answer) -> ScriptedReply {
    let words = NonZeroUsize::new(3).unwrap();
    let spoken = if answer.text.is_empty() { ScriptedReply::default() } else { ScriptedReply::text(&*answer.text) };
    let all =
        answer.calls.iter().fold(spoken, |reply, call| reply.tool_call(&*call.id, &*call.tool, call.arguments.clone()));
    all.words_per_piece(words).first_token_after(Duration::from_millis(300)).between_events(Duration::from_millis(20))
}

/// Follows tokio's clock.
#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now_ms(&self) -> i64 {
        START_MS + i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}
