//! Tools in runs: their schemas, their arguments, their results, and their failures.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::time::{Instant, sleep};
use verbale::Content;
use verbale::conversation::ConversationErrorKind;
use verbale::message::MessageError;
use verbale::model::{Tool, ToolContext, ToolError, ToolSpec};
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::{line, lines, prompt, read, shown};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Weather {
    /// A town, without its country.
    town: String,
}

pub fn weather() -> Tool {
    Tool::new("get_weather", "The weather of today.", |weather: Weather, _| async move {
        Ok(format!("Sunny in {}", weather.town))
    })
    .unwrap()
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Runs one call of `tool` with `arguments`. Returns its result as the conversation has it.
async fn result_of(tool: Tool, arguments: Json) -> String {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", tool.spec().name.as_str(), arguments));
    let conversation = prompt(&bedrock).tool(tool).request("Do it.").apply().unwrap();
    let (said, error) = read(conversation.run()).await;
    assert!(error.is_none() && said.len() == 3 && bedrock.counters().refused == 0, "{error:?}");
    line(&said[1]).strip_prefix("user call_1: ").unwrap().to_owned()
}

#[derive(Deserialize, Serialize, JsonSchema, PartialEq, Debug)]
struct Booking {
    /// How many.
    seats: u8,
    big: u64,
    small: i64,
    share: f64,
    class: Option<Class>,
    legs: Vec<Leg>,
    notes: BTreeMap<String, Json>,
}

#[derive(Deserialize, Serialize, JsonSchema, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum Class {
    First,
    Second,
}

#[derive(Deserialize, Serialize, JsonSchema, PartialEq, Debug)]
struct Leg {
    from: String,
    to: String,
}

fn booking() -> Json {
    json!({"seats": 2, "big": u64::MAX, "small": i64::MIN, "share": 0.1, "class": "first",
        "legs": [{"from": "Rome", "to": "Oslo"}], "notes": {"$bytes": "aGk=", "deep": [[{}]]}})
}

#[tokio::test(start_paused = true)]
async fn model_gets_the_schema_and_the_function_gets_typed_arguments() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "book", booking()));
    let (sender, mut booked) = tokio::sync::mpsc::unbounded_channel();
    let book = Tool::new("book", "Books seats.", move |booking: Booking, _| {
        let sender = sender.clone();
        async move {
            sender.send(serde_json::to_value(&booking)?)?;
            Ok(booking)
        }
    });
    let conversation = prompt(&bedrock).tool(book.unwrap()).tool(weather()).request("Book it.").apply().unwrap();
    let (said, error) = read(conversation.run()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(booked.recv().await.unwrap(), booking());
    let result = line(&said[1]);
    let result: Json = serde_json::from_str(result.strip_prefix("user call_1: ").unwrap()).unwrap();
    let mut exact = booking();
    // A map that looks like a tagged value is escaped in a record.
    exact["notes"] = json!({"$bytes": "aGk=", "deep": [[{}]]});
    assert_eq!(result, exact);

    let body: Json = serde_json::from_slice(bedrock.requests()[0].body()).unwrap();
    let leg = json!({"type": "object", "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
        "required": ["from", "to"]});
    assert_eq!(
        body["toolConfig"]["tools"][0]["toolSpec"],
        json!({"name": "book", "description": "Books seats.", "inputSchema": {"json": {
            "type": "object",
            "properties": {
                "seats": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255, "description": "How many."},
                "big": {"type": "integer", "format": "uint64", "minimum": 0},
                "small": {"type": "integer", "format": "int64"},
                "share": {"type": "number", "format": "double"},
                "class": {"type": ["string", "null"], "enum": ["first", "second", null]},
                "legs": {"type": "array", "items": leg},
                "notes": {"type": "object", "additionalProperties": true},
            },
            "required": ["seats", "big", "small", "share", "legs", "notes"],
        }}})
    );
    assert_eq!((bedrock.counters().requests, bedrock.counters().refused), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn tool_result_is_text_or_json_or_nothing() {
    let give = |given: Json| {
        Tool::new("give", "Gives.", move |_: Nothing, _| {
            let given = given.clone();
            async move { Ok(given) }
        })
        .unwrap()
    };
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    for (given, expected) in [
        (json!("Sunny."), "Sunny.".to_owned()),
        (json!(null), String::new()),
        (json!(12.5), "12.5".to_owned()),
        (json!({"a": [1, u64::MAX]}), r#"{"a":[1,18446744073709551615]}"#.to_owned()),
        (deep.clone(), deep.to_string()),
    ] {
        assert_eq!(result_of(give(given), json!({})).await, expected);
    }
    let huge = Tool::new("huge", "Gives.", |_: Nothing, _| async { Ok(u128::MAX) }).unwrap();
    assert_eq!(result_of(huge, json!({})).await, u128::MAX.to_string());
    let not_json = Tool::new("odd", "Gives.", |_: Nothing, _| async { Ok(BTreeMap::from([(vec![1], 1)])) }).unwrap();
    assert_eq!(
        result_of(not_json, json!({})).await,
        "OutcomeUnknown: The tool ran to its end, but its result cannot be written as JSON; it may have acted. (false)"
    );
}

#[tokio::test(start_paused = true)]
async fn tool_without_arguments_accepts_empty_and_null() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = ran.clone();
    let tool = Tool::new("ring", "Rings.", move |_: Nothing, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    })
    .unwrap();
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "ring", "").tool_call("call_2", "ring", "null"));
    let conversation = prompt(&bedrock).tool(tool).request("Ring.").apply().unwrap();
    assert!(read(conversation.run()).await.1.is_none());
    assert_eq!(ran.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn model_gets_the_errors_of_tools() {
    assert_eq!(
        result_of(weather(), json!({"city": "Rome"})).await,
        "InvalidArguments: The arguments do not fit the schema of the tool: unknown field `city`, expected `town`. \
         Call it again with ones that do. (true)"
    );
    assert_eq!(
        result_of(weather(), json!({})).await,
        "InvalidArguments: The arguments do not fit the schema of the tool: missing field `town`. Call it again with \
         ones that do. (true)"
    );
    let fails = |error: fn() -> ToolError| {
        Tool::new("fail", "Fails.", move |_: Nothing, _| async move { Err::<(), _>(error()) }).unwrap()
    };
    assert_eq!(result_of(fails(|| "no such town".into()), json!({})).await, "ToolFailed: no such town");
    assert_eq!(
        result_of(fails(|| ToolError::new("later").with_type("Busy").with_retryable(true)), json!({})).await,
        "Busy: later (true)"
    );
    assert_eq!(result_of(fails(|| " ".into()), json!({})).await, "ToolFailed: The tool failed, and did not say why.");
    let panics = Tool::new("panic", "Panics.", |_: Nothing, _| async { if true { panic!("oh no") } else { Ok(()) } });
    let at_once = Tool::new("panic", "Panics.", panics_before_its_future);
    for panics in [panics, at_once] {
        assert_eq!(
            result_of(panics.unwrap(), json!({})).await,
            "OutcomeUnknown: The tool failed in an unexpected way; whether it acted is not known. (false)"
        );
    }
}

fn panics_before_its_future(_: Nothing, _: ToolContext) -> std::future::Ready<Result<(), ToolError>> {
    panic!("oh no")
}

#[tokio::test(start_paused = true)]
async fn each_tool_has_its_timeout() {
    let sleeps = |seconds: u64| {
        Tool::new("sleep", "Sleeps.", move |_: Nothing, _| async move {
            sleep(Duration::from_secs(seconds)).await;
            Ok("slept")
        })
        .unwrap()
    };
    let late = "OutcomeUnknown: The tool did not answer in time; whether it acted is not known. (false)";
    for (tool, expected, after_s) in [
        (sleeps(14), "slept", 14),
        (sleeps(16), late, 15),
        (sleeps(16).with_timeout(Duration::from_secs(17)), "slept", 16),
        (sleeps(3).with_timeout(Duration::from_secs(2)), late, 2),
    ] {
        let started = Instant::now();
        assert_eq!(result_of(tool, json!({})).await, expected);
        assert_eq!(started.elapsed().as_secs(), after_s);
    }
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "sleep", json!({})));
    let prompt = prompt(&bedrock).tool(sleeps(14)).set("tool_timeout_ms", 1_000).request("Sleep.");
    let (said, _) = read(prompt.apply().unwrap().run()).await;
    assert_eq!(line(&said[1]), format!("user call_1: {late}"));
}

#[tokio::test(start_paused = true)]
async fn tool_calls_of_one_answer_run_concurrently() {
    let sleeps = Tool::new("sleep", "Sleeps.", |_: Nothing, _| async {
        sleep(Duration::from_secs(5)).await;
        Ok("slept")
    });
    let bedrock = FakeBedrock::default();
    let calls = ScriptedReply::text("All of it.")
        .tool_call("call_1", "sleep", json!({}))
        .tool_call("call_2", "get_weather", json!({"town": "Rome"}))
        .tool_call("call_3", "no_such_tool", json!({}))
        .tool_call("call_4", "sleep", json!({}));
    bedrock.reply(calls);
    let conversation =
        prompt(&bedrock).tool(sleeps.unwrap().read_only()).tool(weather()).request("Go.").apply().unwrap();
    let started = Instant::now();
    let (said, error) = read(conversation.run()).await;
    assert!(error.is_none() && started.elapsed().as_secs() == 5, "{error:?} {:?}", started.elapsed());
    let mut lines = lines(&said);
    lines[3..5].sort();
    assert_eq!(
        lines,
        [
            r#"assistant "All of it." sleep(call_1) get_weather(call_2) no_such_tool(call_3) sleep(call_4)"#,
            "user call_3: NotRun: There is no such tool; the tools are sleep, get_weather. (false)",
            "user call_2: Sunny in Rome merged",
            "user call_1: slept merged merged",
            "user call_4: slept merged merged merged",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([r#"assistant "Yes, I am here.""#.to_owned()])
        .collect::<Vec<_>>()
    );
    assert_eq!(shown(&conversation).len(), 4);
    assert_eq!((bedrock.counters().requests, bedrock.counters().refused), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn no_tools_are_offered_after_the_last_round() {
    let bedrock = FakeBedrock::answering(|request| match request.input().tool_config() {
        None => ScriptedReply::text("That is all I know."),
        _ => {
            ScriptedReply::default().tool_call(format!("c{}", request.number()), "get_weather", json!({"town": "Rome"}))
        }
    });
    let ask = prompt(&bedrock).tool(weather()).set("max_tool_rounds", 2).request("Ask on.");
    assert_eq!(ask.prompt().await.unwrap(), "That is all I know.");
    assert_eq!(bedrock.counters().requests, 3);

    let stubborn = FakeBedrock::answering(|request| {
        ScriptedReply::default().tool_call(format!("c{}", request.number()), "get_weather", json!({"town": "Rome"}))
    });
    let conversation = prompt(&stubborn)
        .tool(weather())
        .config(|config| config.with_max_tool_rounds(1))
        .request("Ask on.")
        .apply()
        .unwrap();
    let (said, error) = read(conversation.run()).await;
    let error = error.unwrap();
    assert_eq!(error.kind(), ConversationErrorKind::NoAnswer);
    assert!(error.to_string().starts_with("the model called tools in more than 1 rounds"), "{error}");
    assert_eq!(
        lines(&said)[2..],
        [
            "assistant get_weather(c1)",
            "user c1: NotRun: The tool was not run: too many were called for one answer. (false)"
        ]
    );
    assert!(conversation.read(|manager| manager.open_tool_calls().is_empty()));
}

#[tokio::test(start_paused = true)]
async fn repeated_tool_call_id_is_replaced() {
    let bedrock = FakeBedrock::default();
    let long = "x".repeat(64);
    for _ in 0..3 {
        let call = || ScriptedReply::default().tool_call(&long, "get_weather", json!({"town": "Rome"}));
        bedrock.reply(call().tool_call(&long, "get_weather", json!({"town": "Oslo"})));
    }
    let conversation = prompt(&bedrock).tool(weather()).request("Go.").apply().unwrap();
    let (said, error) = read(conversation.run()).await;
    assert!(error.is_none() && said.len() == 10, "{error:?}");
    let results: Vec<String> = lines(&said).into_iter().filter(|line| line.starts_with("user")).collect();
    let towns = |town: &str| results.iter().filter(|line| line.contains(town)).count();
    assert_eq!((towns("Sunny in Rome"), towns("Sunny in Oslo"), bedrock.counters().refused), (3, 3, 0));
}

#[tokio::test(start_paused = true)]
async fn tool_that_was_not_offered_does_not_run() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "get_weather", json!({"town": "Rome"})));
    let conversation = prompt(&bedrock).request("Go.").apply().unwrap();
    let (said, error) = read(conversation.run()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(line(&said[1]), "user call_1: NotRun: There are no tools; answer without. (false)");
}

#[test]
fn tool_that_no_model_can_call_is_refused() {
    #[derive(Deserialize, JsonSchema)]
    struct Town(#[expect(dead_code, reason = "only its schema is used")] String);
    let text = Tool::new("get_weather", "", |_: Town, _| async { Ok(()) });
    let refused = |error: MessageError, start: &str| assert!(error.to_string().starts_with(start), "{error}");
    refused(text.unwrap_err(), "the schema of a tool's arguments");
    let anything = Tool::new("get_weather", "", |_: Json, _| async { Ok(()) });
    refused(anything.unwrap_err(), "the schema of a tool's arguments");
    let name = Tool::new("get weather", "", |_: Nothing, _| async { Ok(()) });
    refused(name.unwrap_err(), "a tool name has 1 to 64 characters");
}

#[tokio::test(start_paused = true)]
async fn tool_call_counts_as_the_first_token_while_its_arguments_are_generated() {
    let bedrock = FakeBedrock::default();
    // The call takes more than a minute. A model has 8 s for its first token.
    let long = json!({"town": "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch ".repeat(4)});
    let slow = ScriptedReply::default().tool_call("call_1", "get_weather", long);
    bedrock.reply(slow.first_token_after(Duration::from_secs(3)).between_events(Duration::from_secs(3)));
    bedrock.reply(ScriptedReply::text("Sunny."));
    let conversation = prompt(&bedrock).tool(weather()).request("What is the weather?").apply().unwrap();
    let (said, error) = read(conversation.run()).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!((said.len(), bedrock.counters().requests), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn run_waits_for_the_service_to_run_an_external_tool() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "transfer", json!({"to": "sales"})));
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}});
    let tool = Tool::external(ToolSpec::new("transfer", "Transfers the call.", schema).unwrap());
    let conversation = prompt(&bedrock).tool(tool).request("Sales, please.").apply().unwrap();
    let mut run = conversation.run();
    let asked = run.next().await.unwrap().unwrap();
    let call = asked.contents().iter().find_map(Content::as_tool_call).unwrap().clone();
    let service = tokio::spawn({
        let conversation = conversation.clone();
        async move {
            sleep(Duration::from_secs(3)).await;
            conversation.tool_result(&call.success("Connected.")).unwrap();
            conversation.tool_result(&call.success("Connected.")).unwrap_err()
        }
    });
    let start = Instant::now();
    let (said, error) = read(run).await;
    assert!(error.is_none() && start.elapsed() == Duration::from_secs(3), "{error:?} {:?}", start.elapsed());
    assert_eq!(lines(&said), ["user call_1: Connected.", "assistant \"Yes, I am here.\""]);
    assert_eq!(service.await.unwrap().kind(), ConversationErrorKind::Refused);
}
