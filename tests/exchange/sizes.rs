//! Size limits of imports, and the kinds of their errors.

use std::error::Error;

use verbale::exchange::{
    ImportOptions, import_anthropic, import_chat, import_converse, import_json_lines, import_openai, import_versioned,
    window_anthropic,
};
use verbale::{Content, PlainMessage, ToolCall, Value};

use crate::formats::{self, Manager, manager, options, said};

/// Returns a conversation of parallel calls with small arguments, which have the densest JSON.
fn calls(turns: usize, parallel: usize) -> Manager {
    let mut manager = manager();
    for turn in 0..turns {
        manager.add_user("Look").unwrap();
        let calls: Vec<ToolCall> = (0..parallel)
            .map(|call| {
                let arguments = Value::map([("a", Value::list([1, 2, 3]).unwrap())]).unwrap();
                ToolCall::new(format!("c{turn}-{call}"), "f", arguments).unwrap()
            })
            .collect();
        let results: Vec<Content> = calls.iter().map(|call| call.success([Value::from(1)]).into()).collect();
        manager.add_assistant(calls.into_iter().map(Content::from).collect::<Vec<_>>()).unwrap();
        manager.add_user(results).unwrap();
        manager.add_assistant("ok").unwrap();
    }
    manager
}

#[test]
fn exports_of_parallel_calls_are_imported() {
    let manager = calls(100, 10);
    for format in formats::ALL {
        let Some(text) = (format.export)(&manager) else { continue };
        let again = (format.import)(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", format.name));
        assert!(format.name == "openai" || said(&again) == said(&manager), "{}", format.name);
        assert_eq!((format.export)(&again), Some(text), "{}", format.name);
    }
    let window = window_anthropic(&manager).text;
    let again: Manager = import_anthropic(&window, &options()).unwrap();
    assert_eq!(window_anthropic(&again).text, window);
}

#[test]
fn every_format_refuses_text_over_the_limit() {
    let options = ImportOptions::default().with_max_bytes(3);
    let text = "[[[]]]";
    let refused = |error: Option<verbale::exchange::ExchangeError>| {
        let error = error.unwrap().to_string();
        assert!(error.contains("the text has 6 bytes, more than the limit of 3"), "{error}");
        error
    };
    refused(import_anthropic::<PlainMessage>(text, &options).err());
    refused(import_chat::<PlainMessage>(text, &options).err());
    refused(import_converse::<PlainMessage>(text, &options).err());
    refused(import_json_lines::<PlainMessage>(text, &options).err());
    refused(import_versioned::<PlainMessage>(text, &options).err());
    insta::assert_snapshot!(refused(import_openai::<PlainMessage>(text, &options).err()), @r"
    $ (line 1, column 1): the text has 6 bytes, more than the limit of 3; split it or raise `ImportOptions::with_max_bytes`
    ");
    let at_the_limit = options.with_max_bytes(2);
    assert!(import_openai::<PlainMessage>("[]", &at_the_limit).is_ok());
}

#[test]
fn error_names_its_cause_and_has_the_manager_error_as_its_source() {
    for (text, reason, is_refused) in [
        ("[", "the text is not JSON", false),
        (r#"[{"role":"robot","content":"Hi"}]"#, "the name is unknown", false),
        (r#"[{"role":"user","content":"Hi","mood":"good"}]"#, "an unknown key cannot be kept", false),
        (r#"[{"role":"user","content":"Hi","name":"Mia"}]"#, "cannot be kept", false),
        (r#"[{"role":"user","content":" "}]"#, "the conversation refuses the message", true),
    ] {
        let error = import_openai::<PlainMessage>(text, &options()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(error.source().is_some(), is_refused, "{text}");
    }
}
