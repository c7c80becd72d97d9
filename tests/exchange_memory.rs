//! What importing takes in memory: at most 4 times the text, and 64 KB, whatever the text is.
//!
//! A process of its own, for the allocator counts what all threads take.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a test may panic")]

#[allow(dead_code, reason = "what was said does not matter here")]
#[path = "exchange/formats.rs"]
mod formats;

use std::alloc::System;
use std::path::Path;

use formats::{ALL, Format};
use peakmem_alloc::{INSTRUMENTED_SYSTEM, PeakMemAlloc, PeakMemAllocTrait};
use serde_json::Value as Json;

#[global_allocator]
static ALLOCATOR: &PeakMemAlloc<System> = &INSTRUMENTED_SYSTEM;

const SIZES: [usize; 3] = [10_000, 100_000, 2_000_000];

/// A text that repeats an item, in which `#` is its number.
struct Dense {
    what: &'static str,
    format: &'static str,
    /// Whether it is a conversation, of whatever size.
    is_taken: bool,
    before: &'static str,
    item: &'static str,
    after: &'static str,
}

const fn dense(
    format: &'static str,
    what: &'static str,
    before: &'static str,
    item: &'static str,
    after: &'static str,
) -> Dense {
    Dense { what, format, is_taken: false, before, item, after }
}

const fn taken(
    format: &'static str,
    what: &'static str,
    before: &'static str,
    item: &'static str,
    after: &'static str,
) -> Dense {
    Dense { is_taken: true, ..dense(format, what, before, item, after) }
}

const USER: &str = r#"{"role":"user","content":"a"}]"#;
const CALL: &str = r#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":""#;
const PARTS: &str = r#"[{"role":"user","content":["#;
const BLOCKS: &str = r#"[{"role":"user","content":["#;
const INPUT: &str = r#"[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":"#;

const DENSE: &[Dense] = &[
    taken("openai", "tiny messages", "[", r#"{"role":"user","content":"a"},{"role":"assistant","content":"a"},"#, USER),
    taken("openai", "instructions", "[", r#"{"role":"system","content":"Be brief."},"#, USER),
    dense("openai", "messages to merge", "[", r#"{"role":"user","content":"a"},"#, USER),
    taken("openai", "sentences to merge", "[", r#"{"role":"user","content":"Where is my parcel now?"},"#, USER),
    dense(
        "openai",
        "pairs to merge",
        "[",
        r#"{"role":"user","content":"a"},{"role":"user","content":"a"},{"role":"assistant","content":"a"},{"role":"assistant","content":"a"},"#,
        USER,
    ),
    dense("openai", "parts", PARTS, r#"{"type":"text","text":"a"},"#, r#"{"type":"text","text":"a"}]}]"#),
    dense("openai", "empty parts", PARTS, r#"{"type":"text","text":""},"#, r#"{"type":"text","text":"a"}]}]"#),
    dense(
        "openai",
        "messages of parts",
        "[",
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"a"}]},"#,
        USER,
    ),
    dense(
        "openai",
        "images with a detail",
        PARTS,
        r#"{"type":"image_url","image_url":{"url":"a","detail":""}},"#,
        r#"{"type":"text","text":"a"}]}]"#,
    ),
    dense(
        "openai",
        "calls",
        r#"[{"role":"assistant","tool_calls":["#,
        r##"{"id":"#","function":{"name":"f","arguments":""}},"##,
        r#"{"id":"a","function":{"name":"f","arguments":"{\"a\":0}"}}]}]"#,
    ),
    dense(
        "openai",
        "calls with an argument",
        r#"[{"role":"assistant","tool_calls":["#,
        r##"{"id":"#","function":{"name":"f","arguments":"{\"a\":0}"}},"##,
        r#"{"id":"a","function":{"name":"f","arguments":""}}]}]"#,
    ),
    dense(
        "openai",
        "calls and results",
        "[",
        r##"{"role":"assistant","tool_calls":[{"id":"#","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"#","content":""},"##,
        USER,
    ),
    taken("openai", "calls as they are", "[", AS_THEY_ARE, USER),
    dense(
        "openai",
        "calls of one id",
        "[",
        r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"a","content":""},"#,
        USER,
    ),
    dense(
        "openai",
        "results of empty parts",
        "[",
        r##"{"role":"assistant","tool_calls":[{"id":"#","function":{"name":"f","arguments":"0"}}]},{"role":"tool","tool_call_id":"#","content":[{"type":"text","text":""},{"type":"text","text":""},{"type":"text","text":""}]},"##,
        USER,
    ),
    dense("openai", "numbers", CALL, "[0,0,0,0,0,0,0,0,0,0],", ""),
    dense("openai", "numbers in a list", CALL_LIST, "0,", END_LIST),
    dense("openai", "decimal numbers in a list", CALL_LIST, "0.5,", END_LIST),
    dense("openai", "lists in a list", CALL_LIST, "[],", END_LIST),
    dense("openai", "maps in a list", CALL_LIST, r#"{\"\":0},"#, END_LIST),
    dense("openai", "keys", CALL_MAP, r##"\"#\":0,"##, END_MAP),
    dense("openai", "keys with texts", CALL_MAP, r##"\"key-#\":\"some text of a value\","##, END_MAP),
    taken("openai", "a long text", r#"[{"role":"user","content":""#, "some words and ", r#"a"}]"#),
    taken("openai", "a long text with escapes", r#"[{"role":"user","content":""#, r"sixteen letters\n", r#"a"}]"#),
    taken("openai", "a text of escapes", r#"[{"role":"user","content":"a"#, r"\u00e9\n", r#"a"}]"#),
    taken(
        "openai",
        "a long text in arguments",
        r#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[\""#,
        r"fifteen letters\\n",
        r#"\"]"}}]}]"#,
    ),
    taken(
        "openai",
        "long results",
        r#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"a","content":""#,
        r#"{\"a\":1},"#,
        r#""},{"role":"user","content":"a"},{"role":"user","content":"a"}]"#,
    ),
    dense("openai", "a long number", CALL, "9", r#""}}]}]"#),
    taken(
        "openai",
        "a large image",
        r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"#,
        "AAAA",
        r#""}}]}]"#,
    ),
    taken("openai", "keys that are not read", r#"{"a":["#, r#"{"a":[0]},"#, r#"0],"messages":[]}"#),
    dense("openai", "lists in each other", "", "[", ""),
    dense("openai", "lists in each other, in arguments", CALL, "[", ""),
    taken(
        "converse",
        "tiny messages",
        "[",
        r#"{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"text":"a"}]},"#,
        CONVERSE_USER,
    ),
    taken(
        "converse",
        "instructions",
        r#"{"messages":[],"system":["#,
        r#"{"text":"Be brief, and polite to everybody."},"#,
        r#"{"text":"a"}]}"#,
    ),
    dense("converse", "tiny instructions", r#"{"messages":[],"system":["#, r#"{"text":"a"},"#, r#"{"text":"a"}]}"#),
    dense("converse", "messages to merge", "[", r#"{"role":"user","content":[{"text":"a"}]},"#, CONVERSE_USER),
    dense("converse", "texts", BLOCKS, r#"{"text":"a"},"#, r#"{"text":"a"}]}]"#),
    dense("converse", "cache points", BLOCKS, r#"{"cachePoint":0},"#, r#"{"text":"a"}]}]"#),
    dense("converse", "numbers", INPUT_LIST, "0,", r#"0]}}]}]"#),
    dense("converse", "maps", INPUT_LIST, r#"{"":0},"#, r#"0]}}]}]"#),
    dense("converse", "lists", INPUT_LIST, "[],", r#"0]}}]}]"#),
    dense("converse", "keys", INPUT_MAP, r##""#":0,"##, r#""":0}}}]}]"#),
    dense(
        "converse",
        "calls",
        r#"[{"role":"assistant","content":["#,
        r##"{"toolUse":{"toolUseId":"#","name":"f","input":0}},"##,
        r#"{"text":"a"}]}]"#,
    ),
    dense(
        "converse",
        "calls and results",
        "[",
        r##"{"role":"assistant","content":[{"toolUse":{"toolUseId":"#","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"#","content":[{"json":{}}]}}]},"##,
        CONVERSE_USER,
    ),
    taken(
        "converse",
        "a long text with escapes",
        r#"[{"role":"user","content":[{"text":""#,
        r"sixteen letters\n",
        r#"a"}]}]"#,
    ),
    taken(
        "converse",
        "a large image",
        r#"[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":""#,
        "AAAA",
        r#""}}}]}]"#,
    ),
    dense("converse", "lists in each other", INPUT, "[", ""),
    taken(
        "versioned",
        "tiny messages",
        VERSIONED,
        r#"{"type":"TextMessage","text":"a","role":"user"},{"type":"TextMessage","text":"a","role":"assistant"},"#,
        VERSIONED_USER,
    ),
    dense(
        "versioned",
        "messages to merge",
        VERSIONED,
        r#"{"type":"TextMessage","text":"a","role":"user"},"#,
        VERSIONED_USER,
    ),
    dense(
        "versioned",
        "parts of an instruction",
        r#"{"version":"1.0","messages":[{"type":"AgentMessage","text":"a","role":"system"},"#,
        r#"{"type":"AgentMessage","text":"a","role":"system","continues":true},"#,
        VERSIONED_USER,
    ),
    dense(
        "versioned",
        "calls",
        VERSIONED,
        r##"{"type":"ToolCallMessage","tool_name":"f","tool_call_id":"#","arguments":0,"role":"assistant"},"##,
        VERSIONED_USER,
    ),
    dense(
        "versioned",
        "calls and results",
        VERSIONED,
        r##"{"type":"ToolCallMessage","message":"","tool_name":"f","tool_call_id":"#","arguments":{},"result":"a","error":null,"role":"assistant"},"##,
        VERSIONED_USER,
    ),
    dense(
        "versioned",
        "calls and results at once",
        r#"{"version":"1.0","messages":[{"type":"TextMessage","text":"a","role":"assistant"},"#,
        r##"{"type":"ToolCallMessage","tool_name":"f","tool_call_id":"#","arguments":0,"result":0,"role":"assistant","continues":true},"##,
        VERSIONED_USER,
    ),
    dense(
        "versioned",
        "parts of a result",
        r#"{"version":"1.0","messages":[{"type":"ToolCallMessage","tool_name":"f","tool_call_id":"a","arguments":0,"role":"assistant","result_contents":["#,
        r#"{"type":"json","json":0},"#,
        r#"{"type":"text","text":"a"}]}]}"#,
    ),
    dense("versioned", "images", VERSIONED, r#"{"type":"ImageMessage","url":"","role":"user"},"#, VERSIONED_USER),
    taken("json_lines", "tiny messages", "", TINY_LINES, ""),
    dense("json_lines", "messages to merge", "", TINY_LINE, ""),
    dense(
        "json_lines",
        "documents",
        "",
        "{\"role\":\"document\",\"content\":{\"type\":\"text\",\"text\":\"\"},\"timestamp\":\"2025-11-18T10:30:00Z\"}\n",
        "",
    ),
    dense(
        "json_lines",
        "calls and results",
        "",
        "{\"role\":\"invocation\",\"identifier\":\"#\",\"name\":\"f\",\"arguments\":{},\"timestamp\":\"2025-11-18T10:30:00Z\"}\n{\"role\":\"result\",\"invocation_id\":\"#\",\"content\":[],\"timestamp\":\"2025-11-18T10:30:00Z\"}\n",
        "",
    ),
    dense(
        "json_lines",
        "parts",
        r#"{"role":"user","timestamp":"2025-11-18T10:30:00Z","content":["#,
        r#"{"type":"text","text":"a"},"#,
        r#"{"type":"text","text":"a"}]}"#,
    ),
    dense(
        "chat",
        "tiny messages",
        "[",
        r#"{"role":"user","content":"a","timestamp":"2024-03-15T10:30:00Z"},"#,
        CHAT_USER,
    ),
    taken(
        "chat",
        "messages with their ids",
        "[",
        r##"{"message_id":"m-#","conversation_id":"default","role":"user","content":"I would like to know whether the ferry on Friday takes bicycles, and how much that costs for two adults and a child. And what if it rains, can I come on Saturday without paying again?","timestamp":"2024-03-15T10:30:00Z","metadata":{"model":"gpt-4o","tokens":412}},"##,
        CHAT_USER,
    ),
    dense(
        "openai",
        "small images",
        PARTS,
        r#"{"type":"image_url","image_url":{"url":"data:;base64,AA=="}},"#,
        r#"{"type":"text","text":"a"}]}]"#,
    ),
    dense(
        "openai",
        "small sounds and files",
        PARTS,
        r#"{"type":"input_audio","input_audio":{"data":"","format":"wav"}},{"type":"file","file":{"file_data":"","filename":""}},"#,
        r#"{"type":"text","text":"a"}]}]"#,
    ),
    dense(
        "openai",
        "late results",
        "[",
        r##"{"role":"assistant","tool_calls":[{"id":"#","function":{"name":"f","arguments":"{\"\\u0061\":\"\\u0061\"}"}}]},{"role":"user","content":"a"},{"role":"tool","tool_call_id":"#","content":"\u0061"},"##,
        USER,
    ),
    dense(
        "converse",
        "documents",
        BLOCKS,
        r#"{"document":{"format":"md","name":"","source":{"bytes":""}}},"#,
        r#"{"text":"a"}]}]"#,
    ),
    dense(
        "converse",
        "images in results",
        r#"[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":["#,
        r#"{"image":{"format":"png","source":{"bytes":"AA=="}}},"#,
        r#"{"text":"a"}]}}]}]"#,
    ),
    dense("converse", "decimal numbers", INPUT_LIST, "1e99,", r#"0]}}]}]"#),
    dense("converse", "texts in a list", INPUT_LIST, r#""a","#, r#"0]}}]}]"#),
    dense("converse", "keys of escapes", INPUT_MAP, r##""\u0061#":"","##, r#""":0}}}]}]"#),
    taken("json_lines", "blank lines", "", " \r\n", ""),
    dense(
        "json_lines",
        "data and titles",
        "",
        "{\"role\":\"document\",\"title\":\"\",\"content\":{\"type\":\"document\",\"data\":\"AA==\",\"mime_type\":\"\"},\"timestamp\":\"2025-11-18T10:30:00Z\"}\n",
        "",
    ),
    dense(
        "json_lines",
        "failures",
        "",
        "{\"role\":\"invocation\",\"identifier\":\"#\",\"name\":\"f\",\"arguments\":0,\"timestamp\":\"2025-11-18T10:30:00Z\"}\n{\"role\":\"result\",\"invocation_id\":\"#\",\"error\":\"a\",\"error_type\":\"\",\"timestamp\":\"2025-11-18T10:30:00Z\"}\n",
        "",
    ),
    dense(
        "chat",
        "metadata",
        "[",
        r##"{"message_id":"\u0061#","role":"user","content":"a","timestamp":"2024-03-15T10:30:00Z","metadata":{"\u0061":{"a":[]},"b":""}},"##,
        CHAT_USER,
    ),
    dense(
        "chat",
        "conversations with ids",
        "[",
        r##"{"message_id":"#","conversation_id":"\u0061#","role":"assistant","content":"a","timestamp":"2024-03-15T10:30:00Z"},{"message_id":"#","conversation_id":"b#","role":"user","content":[{"type":"image","data":""}],"timestamp":"2024-03-15T10:30:00Z"},"##,
        CHAT_USER,
    ),
    taken(
        "chat",
        "short messages with their ids",
        "[",
        r##"{"message_id":"0b1f6f5e-77a3-4c06-9d0b-6a3d5e2f#","conversation_id":"CA7","role":"user","content":"Is it open on Friday?","timestamp":"2024-03-15T10:30:00Z"},"##,
        CHAT_USER,
    ),
    dense(
        "chat",
        "ids",
        "[",
        r##"{"message_id":"#","role":"user","content":"a","timestamp":"2024-03-15T10:30:00Z"},"##,
        CHAT_USER,
    ),
    dense(
        "chat",
        "conversations",
        "[",
        r##"{"conversation_id":"#","role":"assistant","content":"a","timestamp":"2024-03-15T10:30:00Z"},"##,
        CHAT_USER,
    ),
    dense("chat", "keys of metadata", CHAT_METADATA, r##""#":0,"##, r#""":0}}]"#),
    dense(
        "chat",
        "blocks",
        r#"[{"role":"user","timestamp":"2024-03-15T10:30:00Z","content":["#,
        r#"{"type":"text","text":"a"},"#,
        r#"{"type":"text","text":"a"}]}]"#,
    ),
    taken(
        "chat",
        "a large image",
        r#"[{"role":"user","timestamp":"2024-03-15T10:30:00Z","content":[{"type":"image","source":"base64","data":""#,
        "AAAA",
        r#""}]}]"#,
    ),
];

const VERSIONED: &str = r#"{"version":"1.0","messages":["#;
const VERSIONED_USER: &str = r#"{"type":"TextMessage","text":"a","role":"user"}]}"#;
const TINY_LINE: &str =
    "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"a\"},\"timestamp\":\"2025-11-18T10:30:00Z\"}\n";
const TINY_LINES: &str = "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"a\"},\"timestamp\":\"2025-11-18T10:30:00Z\"}\n{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"a\"},\"timestamp\":\"2025-11-18T10:30:00Z\"}\n";
const CHAT_USER: &str = r#"{"role":"user","content":"a","timestamp":"2024-03-15T10:30:00Z"}]"#;
const CHAT_METADATA: &str = r#"[{"role":"user","content":"a","timestamp":"2024-03-15T10:30:00Z","metadata":{"#;

const AS_THEY_ARE: &str = r##"{"role":"user","content":"My user id is mia_li_3668, can you please look it up?"},
{"role":"assistant","content":null,"tool_calls":[{"id":"call_ORFOG4jtgQK83YBz#","type":"function","function":
{"name":"get_user_details","arguments":"{\"user_id\":\"mia_li_3668\"}"}}]},{"role":"tool","tool_call_id":
"call_ORFOG4jtgQK83YBz#","content":"{\"name\": \"Mia Li\", \"dob\": \"1990-04-05\"}"},{"role":"assistant","content":
"Thank you, Mia. What can I do for you today?"},"##;
const CALL_LIST: &str = r#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"["#;
const END_LIST: &str = r#"0]"}}]}]"#;
const CALL_MAP: &str = r#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"#;
const END_MAP: &str = r#"\"\":0}"}}]}]"#;
const INPUT_LIST: &str = r#"[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":["#;
const INPUT_MAP: &str = r#"[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{"#;
const CONVERSE_USER: &str = r#"{"role":"user","content":[{"text":"a"}]}]"#;

impl Dense {
    fn text(&self, size: usize) -> String {
        let times = size.saturating_sub(self.before.len()) / self.item.len() + 1;
        let mut text = self.before.to_owned();
        if self.item.contains('#') {
            (0..times).for_each(|number| text.push_str(&self.item.replace('#', &number.to_string())));
        } else {
            text.push_str(&self.item.repeat(times));
        }
        text + self.after
    }
}

/// What an importer takes for a text at most, and whether it takes the text.
fn peak_bytes(format: &Format, text: &[u8]) -> (usize, bool) {
    ALLOCATOR.reset_peak_memory();
    let imported = (format.import)(text);
    (ALLOCATOR.get_peak_memory(), imported.is_ok())
}

fn check(format: &Format, what: &str, text: &[u8]) -> bool {
    let (peak, is_taken) = peak_bytes(format, text);
    let times = peak as f64 / text.len() as f64;
    println!(
        "{:10} {what:32} {:9} bytes: {times:6.2} times, {}",
        format.name,
        text.len(),
        if is_taken { "taken" } else { "refused" }
    );
    assert!(peak <= 4 * text.len() + 64 * 1024, "{} {what}: {} bytes took {peak}", format.name, text.len());
    is_taken
}

// One test: side by side, they would count each other's memory.
#[test]
fn at_most_4_times_the_text() {
    for dense in DENSE {
        let format = ALL.iter().find(|format| format.name == dense.format).unwrap();
        for size in SIZES {
            let is_taken = check(format, dense.what, dense.text(size).as_bytes());
            assert!(is_taken || !dense.is_taken, "{} {} of {size} bytes is refused", dense.format, dense.what);
        }
    }
    for (name, text) in recordings() {
        let manager = (ALL[0].import)(text.as_bytes()).unwrap();
        for format in ALL {
            let Some(text) = (format.export)(&manager) else { continue };
            assert!(check(format, &name, text.as_bytes()), "{name} is refused");
            for cut in 1..20 {
                check(format, "damaged", &damaged(text.as_bytes(), cut));
            }
            let mut json = serde_json::from_str(&text).unwrap_or_default();
            if structured(&mut json) > 0 {
                let data = json.to_string();
                assert!(check(format, "the same, results as data", data.as_bytes()), "{name} with data is refused");
                // Ten times, as of a long day: a small text has a margin.
                let mut long = json.clone();
                let messages = long["messages"].as_array_mut().unwrap();
                *messages = (0..10).flat_map(|_| messages.clone()).collect();
                let long = long.to_string();
                assert!(check(format, "ten times, results as data", long.as_bytes()), "{name} ten times is refused");
            }
        }
    }
}

/// Puts data in the place of the results that are JSON in a text, and counts them.
fn structured(json: &mut Json) -> usize {
    match json {
        Json::Array(items) => items.iter_mut().map(structured).sum(),
        Json::Object(entries) => {
            let data = |text: &Json| serde_json::from_str(text.as_str()?).ok().filter(Json::is_object);
            if let Some(data) = entries.get("result").and_then(data) {
                entries.insert("result".to_owned(), data);
                return 1;
            }
            if entries.contains_key("toolUseId")
                && let Some(block) = entries.get_mut("content").and_then(|content| content.get_mut(0))
                && let Some(data) = block.get("text").and_then(data)
            {
                *block = serde_json::json!({"json": data});
                return 1;
            }
            entries.values_mut().map(structured).sum()
        }
        _ => 0,
    }
}

/// The text with some of its bytes taken out, and others put twice.
fn damaged(text: &[u8], cut: usize) -> Vec<u8> {
    let at = text.len() * cut / 20;
    let (before, after) = text.split_at(at);
    match cut % 4 {
        0 => before.to_vec(),
        1 => [before, &before[at / 2..], after].concat(),
        2 => [before, after.get(7..).unwrap_or_default()].concat(),
        _ => [before, &b"["[..].repeat(10_000), after].concat(),
    }
}

fn recordings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/tau-airline");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: there is no {}", folder.display());
        return Vec::new();
    };
    let paths = files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    paths
        .map(|path| (path.file_stem().unwrap().display().to_string(), std::fs::read_to_string(path).unwrap()))
        .collect()
}
