//! Exports and imports a conversation of 1,000 turns with tool calls in each format. The baseline is `serde_json` on the
//! same text, as its `Value` and as plain structs, which enforce no rules.

#![allow(missing_docs, clippy::unwrap_used, reason = "not part of the library")]

mod workload;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use verbale::exchange::{
    ImportOptions, export_chat, export_converse, export_json_lines, export_openai, export_versioned, import_chat,
    import_converse, import_json_lines, import_openai, import_versioned,
};
use verbale::{MessagesManager, PlainMessage, ToolCall, Value};
use workload::Words;

const TURNS: u64 = 1_000;

type Manager = MessagesManager<PlainMessage>;

/// Returns a conversation in which a tool is called every eighth turn.
fn conversation() -> Manager {
    let words = Words::new();
    let mut manager = Manager::new();
    manager.add_system(words.text(1, 0, 60)).unwrap();
    for turn in 0..TURNS {
        manager.add_user(words.text(1, 4 * turn, 12)).unwrap();
        manager.add_assistant(words.text(1, 4 * turn + 1, 25)).unwrap();
        if turn % 8 == 7 {
            let arguments = Value::map([("user_id", words.text(1, 4 * turn + 2, 1))]).unwrap();
            let call = ToolCall::new(format!("call_ORFOG4jtgQK83YBzrDB{turn}"), "get_user_details", arguments).unwrap();
            manager.add_assistant(call.clone()).unwrap();
            manager.add_user(call.success([words.text(1, 4 * turn + 3, 40)])).unwrap();
        }
    }
    manager
}

/// Measures one format and its baselines. `T` is the plain structs of the format.
fn format<T: Serialize + DeserializeOwned>(
    c: &mut Criterion,
    name: &str,
    manager: &Manager,
    export: fn(&Manager) -> String,
    import: fn(&str) -> Manager,
) {
    let text = export(manager);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let typed: T = serde_json::from_str(&text).unwrap();
    let size = Throughput::Bytes(u64::try_from(text.len()).unwrap());

    let mut group = c.benchmark_group(format!("{name}_out"));
    group.throughput(size.clone());
    group.bench_function("floor_value", |b| b.iter(|| serde_json::to_string(&value).unwrap()));
    group.bench_function("floor_structs", |b| b.iter(|| serde_json::to_string(&typed).unwrap()));
    group.bench_function("verbale", |b| b.iter(|| export(manager)));
    group.finish();

    let mut group = c.benchmark_group(format!("{name}_in"));
    group.throughput(size);
    group.bench_function("floor_value", |b| b.iter(|| serde_json::from_str::<serde_json::Value>(&text).unwrap()));
    group.bench_function("floor_structs", |b| b.iter(|| serde_json::from_str::<T>(&text).unwrap()));
    group.bench_function("verbale", |b| b.iter(|| import(&text)));
    group.finish();
}

mod plain_openai {
    use super::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub struct Message {
        role: String,
        content: Option<String>,
        tool_calls: Option<Vec<Call>>,
        tool_call_id: Option<String>,
    }

    #[derive(Serialize, Deserialize)]
    struct Call {
        id: String,
        r#type: String,
        function: Function,
    }

    #[derive(Serialize, Deserialize)]
    struct Function {
        name: String,
        arguments: String,
    }
}

mod plain_versioned {
    use super::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub struct List {
        messages: Vec<Message>,
        version: String,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(tag = "type")]
    enum Message {
        #[serde(rename = "AgentMessage")]
        Agent { text: String, role: String },
        #[serde(rename = "TextMessage")]
        Text { text: String, role: String },
        #[serde(rename = "ToolCallMessage")]
        ToolCall {
            message: String,
            tool_name: String,
            tool_call_id: String,
            arguments: std::collections::BTreeMap<String, String>,
            result: Option<String>,
            error: Option<String>,
            role: String,
        },
    }
}

mod plain_chat {
    use super::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub struct Message {
        message_id: String,
        conversation_id: String,
        role: String,
        content: String,
        timestamp: String,
    }
}

mod plain_converse {
    use super::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    pub struct Request {
        system: Vec<Block>,
        messages: Vec<Message>,
    }

    #[derive(Serialize, Deserialize)]
    struct Message {
        role: String,
        content: Vec<Block>,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Block {
        Text(String),
        #[serde(rename_all = "camelCase")]
        ToolUse {
            tool_use_id: String,
            name: String,
            input: std::collections::BTreeMap<String, String>,
        },
        #[serde(rename_all = "camelCase")]
        ToolResult {
            tool_use_id: String,
            content: Vec<Block>,
            status: String,
        },
    }
}

fn exchange(c: &mut Criterion) {
    let manager = conversation();
    format::<Vec<plain_openai::Message>>(
        c,
        "openai",
        &manager,
        |manager| export_openai(manager).text,
        |text| import_openai(text, &ImportOptions::default()).unwrap(),
    );
    format::<plain_converse::Request>(
        c,
        "converse",
        &manager,
        |manager| export_converse(manager).text,
        |text| import_converse(text, &ImportOptions::default()).unwrap(),
    );
    format::<plain_versioned::List>(
        c,
        "versioned",
        &manager,
        |manager| export_versioned(manager).text,
        |text| import_versioned(text, &ImportOptions::default()).unwrap(),
    );
    // Without tools and instructions.
    format::<Vec<plain_chat::Message>>(
        c,
        "chat",
        &manager,
        |manager| export_chat([("default", manager)]).text,
        |text| import_chat(text, &ImportOptions::default()).unwrap().swap_remove(0).1,
    );
    lines(c, &manager);
}

/// Measures JSON Lines. The baseline reads and writes one line after another.
fn lines(c: &mut Criterion, manager: &Manager) {
    let text = export_json_lines(manager).text;
    let read = |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let values: Vec<serde_json::Value> = read(&text);
    let size = Throughput::Bytes(u64::try_from(text.len()).unwrap());

    let mut group = c.benchmark_group("json_lines_out");
    group.throughput(size.clone());
    group.bench_function("floor_value", |b| {
        b.iter(|| values.iter().map(|value| serde_json::to_string(value).unwrap() + "\n").collect::<String>());
    });
    group.bench_function("verbale", |b| b.iter(|| export_json_lines(manager).text));
    group.finish();

    let mut group = c.benchmark_group("json_lines_in");
    group.throughput(size);
    group.bench_function("floor_value", |b| b.iter(|| read(&text)));
    group.bench_function("verbale", |b| {
        b.iter(|| import_json_lines::<PlainMessage>(&text, &ImportOptions::default()).unwrap())
    });
    group.finish();
}

criterion_group!(benches, exchange);
criterion_main!(benches);
