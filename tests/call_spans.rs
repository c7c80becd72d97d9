//! The spans and events of a call use the names of OpenTelemetry and contain no words of the call.
//!
//! This test needs its own process, because `tracing` caches disabled callsites for all threads.

#![allow(clippy::unwrap_used, reason = "tests")]

#[allow(dead_code, clippy::panic, clippy::indexing_slicing, reason = "tests of calls share it")]
#[path = "call/support.rs"]
mod support;

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use verbale::Value;
use verbale::log::{CallHeader, CallId, LogWriter, MemoryLog, WriterSettings};
use verbale::model::{Failure, Tool, ToolContext, ToolSpec};

use support::{Scripted, Step, builder, calls, read, turn, words};

/// Collects all fields of all spans and events.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Visit for &Notes {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push(format!("{}={value:?}", field.name()));
    }
}

impl<S: Subscriber> Layer<S> for Notes {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.0.lock().unwrap().push(format!("span {}", attributes.metadata().name()));
        attributes.record(&mut &*self);
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut &*self);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut &*self);
    }
}

#[tokio::test(start_paused = true)]
async fn spans_of_requests_and_tools_contain_no_words() {
    let notes = Notes::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(notes.clone()));
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    let spec = ToolSpec::new("balance", "What it does.", schema).unwrap();
    let balance = |_: Value, _: ToolContext| async { Ok(vec!["secret".into()]) };
    let model = Scripted::new([
        calls("secret ", "c1", "balance"),
        words("secret secret"),
        vec![Step::Say("secret "), Step::Fail(Failure::Cut)],
    ]);
    let (writer, task) = LogWriter::new(Arc::new(MemoryLog::default()), WriterSettings::default());
    tokio::spawn(task);
    let log = writer.open(CallHeader::new(CallId::new("CA1").unwrap(), 1).unwrap()).unwrap();
    let call = builder(&model).system("secret").tool(Tool::raw(spec, balance)).log(log).open().unwrap();
    turn(&call, "secret").await;
    call.caller_said("secret").unwrap();
    read(call.reply().unwrap()).await;
    drop(call);

    let notes = notes.0.lock().unwrap().clone();
    assert!(!notes.iter().any(|note| note.contains("secret")), "{notes:#?}");
    let expected = [
        "span chat",
        "gen_ai.operation.name=\"chat\"",
        "gen_ai.conversation.id=\"CA1\"",
        "gen_ai.conversation.compacted=false",
        "gen_ai.response.finish_reasons=\"tool_calls\"",
        "gen_ai.usage.output_tokens=10",
        "span execute_tool",
        "gen_ai.operation.name=\"execute_tool\"",
        "gen_ai.tool.name=\"balance\"",
        "gen_ai.tool.call.id=\"c1\"",
        "gen_ai.response.finish_reasons=\"stop\"",
        "error.type=\"cut\"",
    ];
    for note in expected {
        assert!(notes.iter().any(|found| found == note), "no {note} in {notes:#?}");
    }
}
