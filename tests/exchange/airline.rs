//! Recorded conversations with tools, imported and exported through every format.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use verbale::bedrock::{converse_input, to_json, validate};
use verbale::exchange::{export_converse, export_openai, import_converse, import_openai};
use verbale::message::ResultContent;
use verbale::model::{ModelRequest, ToolSpec};
use verbale::{BedrockMessage, Content, MessageWrapper, MessagesManager};

use crate::formats::{self, Manager, said};

const MODEL_ID: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";

/// Returns the recordings beside the project. Prints a note and returns none if the folder does not exist.
pub fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/tau-airline");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: {} does not exist", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let recordings: Vec<_> = paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect();
    assert_eq!(recordings.len(), 20);
    recordings
}

pub fn import(text: &str) -> Manager {
    import_openai(text, &formats::options()).unwrap()
}

#[test]
fn export_equals_recording() {
    for (name, text) in recordings() {
        let recorded: Json = serde_json::from_str(&text).unwrap();
        let manager = import(&text);
        let export = export_openai(&manager);
        assert_eq!(export.losses, [], "{name}");
        let exported: Json = serde_json::from_str(&export.text).unwrap();
        let without_ids = |messages: &Json| -> Vec<Json> {
            let messages = messages.as_array().unwrap().iter();
            messages
                .map(|message| {
                    let calls = message["tool_calls"].as_array().into_iter().flatten();
                    let calls: Vec<Json> = calls
                        .map(|call| {
                            let function = &call["function"];
                            let arguments: Json =
                                serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
                            json!([function["name"], arguments])
                        })
                        .collect();
                    json!([message["role"], message["content"], calls])
                })
                .collect()
        };
        assert_eq!(without_ids(&exported), without_ids(&recorded["messages"]), "{name}");
    }
}

#[test]
fn recordings_survive_every_format() {
    for (name, text) in recordings() {
        let first = import(&text);
        for format in formats::ALL {
            let Some(exported) = (format.export)(&first) else { continue };
            let second = (format.import)(exported.as_bytes()).unwrap();
            assert!(said(&second) == said(&first), "{name} {}", format.name);
            assert!((format.export)(&second) == Some(exported), "{name} {}", format.name);
        }
    }
}

#[test]
fn round_trips_keep_every_tool_pair() {
    for (name, text) in recordings() {
        let recorded: Json = serde_json::from_str(&text).unwrap();
        let calls =
            recorded["messages"].as_array().unwrap().iter().filter_map(|message| message["tool_calls"].as_array());
        let calls: usize = calls.map(Vec::len).sum();
        let first = import(&text);
        for manager in [import(&export_openai(&first).text), through_converse(&first)] {
            assert_eq!(manager.open_tool_calls().len(), 0, "{name}");
            assert_eq!(pairs(&manager), calls, "{name}");
        }
    }
}

fn through_converse(manager: &Manager) -> Manager {
    let export = export_converse(manager);
    assert_eq!(export.losses, []);
    import_converse(export.text, &formats::options()).unwrap()
}

/// Counts the calls in the window whose result is in the next message.
fn pairs(manager: &Manager) -> usize {
    let window: Vec<_> = manager.messages().collect();
    let next = window.iter().skip(1);
    window
        .iter()
        .zip(next)
        .map(|(asking, answering)| {
            let calls = asking.contents().iter().filter_map(Content::as_tool_call);
            let results: Vec<_> = answering.contents().iter().filter_map(Content::as_result).collect();
            let answered = calls.filter(|call| {
                results.iter().any(|result| result.tool_call_id() == call.id() && result.name() == call.name())
            });
            answered.count()
        })
        .sum()
}

#[test]
fn bedrock_accepts_imported_recordings() {
    for (name, text) in recordings() {
        let manager: MessagesManager<BedrockMessage> = import_openai(&text, &formats::options()).unwrap();
        let exported = export_converse(&manager);
        let again: MessagesManager<BedrockMessage> = import_converse(&exported.text, &formats::options()).unwrap();
        for manager in [manager, again] {
            let mut request = ModelRequest::new(manager.messages().map(|it| it.message().clone()).collect());
            request.tools = tools(&manager);
            assert_eq!(validate(&converse_input(MODEL_ID, &request).unwrap()), [], "{name}");
        }
    }
}

fn tools(manager: &MessagesManager<BedrockMessage>) -> Arc<[ToolSpec]> {
    let calls = manager.meta_messages().iter().flat_map(|message| message.contents().iter());
    let mut names: Vec<&str> = calls.filter_map(Content::as_tool_call).map(|call| call.name().as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| ToolSpec::new(name, "", json!({"type": "object"})).unwrap()).collect()
}

#[test]
fn converse_export_equals_sdk_request() {
    let mut compared = 0;
    for (name, text) in recordings() {
        let manager: MessagesManager<BedrockMessage> = import_openai(&text, &formats::options()).unwrap();
        let exported: Json = serde_json::from_str(&export_converse(&manager).text).unwrap();
        let exported = exported["messages"].as_array().unwrap();
        let window: Vec<_> = manager.messages().collect();
        assert_eq!(exported.len(), window.len(), "{name}");
        for (exported, message) in exported.iter().zip(&window) {
            // Bedrock refuses blank text in results too, so the SDK gets `{}` instead.
            if !message.contents().iter().any(has_blank_result) {
                assert_eq!(*exported, to_json(&message.to_raw().unwrap()), "{name}");
                compared += 1;
            }
        }
    }
    assert!(compared == 0 || compared > 700, "{compared}");
}

fn has_blank_result(content: &Content) -> bool {
    let Some(Ok(contents)) = content.as_result().map(|result| result.outcome()) else { return false };
    contents.is_empty()
        || contents.iter().any(|content| matches!(content, ResultContent::Text(text) if text.trim().is_empty()))
}
