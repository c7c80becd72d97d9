//! A process with a host, and calls in it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use verbale::call::{CallBuilder, CallHost, CallSession, HostedCall};
use verbale::clock::{Clock, SequentialIds};
use verbale::conversation::ConversationError;
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, MemoryLog, WriterSettings};
use verbale::message::ResultContent;
use verbale::model::{Tool, ToolContext, ToolSpec};
use verbale::testing::{FaultyLog, LogFault, ScriptedModel};
use verbale::{MessageWrapper, Value};

pub const START_MS: i64 = 1_000_000;
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// Follows tokio's clock.
#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now_ms(&self) -> i64 {
        START_MS + i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

/// Starts a process that logs into `log`.
pub fn host(log: Arc<dyn CallLog>) -> CallHost {
    let (writer, task) = LogWriter::new(log, WriterSettings::default());
    tokio::spawn(task);
    CallHost::new(writer)
}

/// Returns a log with faults.
pub fn faulty(
    log: &Arc<MemoryLog>,
    script: impl Fn(&str, u64) -> Option<LogFault> + Send + Sync + 'static,
) -> Arc<FaultyLog<Arc<MemoryLog>>> {
    Arc::new(FaultyLog::new(log.clone(), move |method, _, number| script(method, number)))
}

pub fn id(text: &str) -> CallId {
    CallId::new(text).unwrap()
}

pub fn header(call_id: &str) -> CallHeader {
    CallHeader::new(id(call_id), START_MS).unwrap()
}

pub fn builder() -> CallBuilder {
    let clock = Arc::new(TokioClock(Instant::now()));
    CallBuilder::new(ScriptedModel::default())
        .system("You answer the phone.")
        .clock(clock, Arc::new(SequentialIds::default()))
}

pub async fn open(host: &CallHost, call_id: &str) -> Result<HostedCall, ConversationError> {
    host.open_or_resume(header(call_id), TIMEOUT, builder).await
}

/// A tool that takes some time.
pub fn slow(takes: Duration) -> Tool {
    let spec = ToolSpec::new("transfer", "It transfers.", Value::map([("type", Value::from("object"))]).unwrap());
    Tool::raw(spec.unwrap(), move |_: Value, _: ToolContext| async move {
        sleep(takes).await;
        Ok(vec![ResultContent::from("done")])
    })
}

/// Adds words of the caller and reads the answer to its end.
pub async fn ask(call: &CallSession, words: &str) {
    call.caller_said(words).unwrap();
    let mut reply = call.reply().unwrap();
    while reply.next().await.is_some() {}
}

/// Returns the texts of the conversation.
pub fn texts(call: &CallSession) -> Vec<String> {
    let text = |wrapper: &verbale::PlainMessage| {
        let texts = wrapper.message().contents().texts().map(|text| text.as_str().to_owned());
        texts.collect::<String>()
    };
    call.conversation().read(|manager| manager.meta_messages().iter().map(text).collect())
}

/// Returns how a call ended in the log, if it did.
pub async fn end(log: &MemoryLog, call_id: &str) -> Option<String> {
    let header = log.read_header(&id(call_id)).await.unwrap().unwrap();
    header.call_end().map(|end| end.reason.to_string())
}
