//! Tools of this process and of the service, with waits, barge-ins and hang-ups. Each call has one outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use verbale::call::{ReplyEnd, ReplyEvent};
use verbale::message::ToolResult;
use verbale::model::{StopReason, Tool, ToolContext, ToolError, ToolSpec};
use verbale::{Timing, Value};

use crate::support::{Scripted, Step, builder, calls, pass, read, shown, why_ignored, window, words};

const UNKNOWN_CALL: &str =
    "the conversation has no such tool call; make the result with the call's `success` or `failure`";
const SECOND_RESULT: &str = "the tool call has a result already; drop the later one";
const OTHER_TOOL: &str = "the result names another tool than the call; make it with the call's `success` or `failure`";

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "What it does.", Value::map([("type", Value::from("object"))]).unwrap()).unwrap()
}

type Done = Result<Vec<verbale::message::ResultContent>, ToolError>;

async fn balance(_: Value, _: ToolContext) -> Done {
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok(vec!["12.50".into()])
}

fn result(id: &str, tool: &str) -> ToolResult {
    let outcome = Ok(vec!["done".into()]);
    ToolResult::new(id.parse().unwrap(), tool.parse().unwrap(), outcome)
}

#[tokio::test(start_paused = true)]
async fn model_is_asked_again_after_a_tool() {
    let model = Scripted::new([calls("One moment. ", "c1", "balance"), words("You have 12.50.")]);
    let call = builder(&model).tool(Tool::raw(spec("balance"), balance)).open().unwrap();
    call.caller_said("My balance?").unwrap();
    let reply = call.reply().unwrap();
    let speech = reply.speech();
    let (text, end) = read(reply).await;
    assert_eq!((text.as_str(), end), ("One moment. You have 12.50.", ReplyEnd::Complete(StopReason::EndTurn)));
    assert_eq!(
        shown(&call),
        [
            "user \"My balance?\"",
            "assistant \"One moment. \" call(c1)",
            "user result(c1: done)",
            "assistant \"You have 12.50.\""
        ]
    );
    // Both messages are one speech: 12 and 15 bytes in 2.7 s.
    let now_ms = call.now_ms();
    call.playback_started(speech, now_ms);
    call.playback_finished(speech, now_ms + 2_700);
    let played = |index: usize| {
        call.conversation().read(|manager| {
            let metadata = manager.meta_messages()[index].metadata().clone();
            [Timing::PlayStart, Timing::PlayEnd].map(|timing| metadata.timing(timing).unwrap() - now_ms)
        })
    };
    assert_eq!([played(1), played(3)], [[0, 1_200], [1_200, 2_700]]);
    let requests = model.requests();
    assert_eq!((requests.len(), requests[0].tools.len(), requests[1].messages.len()), (2, 1, 3));
    // The tool takes 300 ms, and the second answer starts 200 ms after its request.
    let started = |index: usize| {
        call.conversation().read(|manager| manager.meta_messages()[index].metadata().timing(Timing::LlmStart).unwrap())
    };
    assert_eq!(started(3) - started(1), 400);
    assert_eq!(call.conversation().metrics().first_tokens_ms.iter().max(), Some(&200));
    assert_eq!(model.cancelled(), 0);
}

#[tokio::test(start_paused = true)]
async fn service_runs_an_external_tool() {
    let model = Scripted::new([calls("", "c1", "transfer"), words("It is done.")]);
    let call = builder(&model).tool(Tool::external(spec("transfer"))).open().unwrap();
    call.caller_said("Transfer it").unwrap();
    let mut reply = call.reply().unwrap();
    let Some(ReplyEvent::ToolCalled(tool_call)) = reply.next().await else { panic!("no call") };
    assert_eq!(call.conversation().open_tool_calls(), [tool_call]);
    assert_eq!(why_ignored(call.tool_result(result("c1", "other"))), OTHER_TOOL);
    assert_eq!(why_ignored(call.tool_result(result("c2", "transfer"))), UNKNOWN_CALL);
    assert!(call.tool_result(result("c1", "transfer")).is_applied());
    assert_eq!(why_ignored(call.tool_result(result("c1", "transfer"))), SECOND_RESULT);
    assert_eq!(read(reply).await.0, "It is done.");
}

#[tokio::test(start_paused = true)]
async fn service_gets_a_call_that_was_made_before_a_barge_in_though_it_reads_late() {
    let model = Scripted::new([calls("One moment. ", "c1", "transfer")]);
    let call = builder(&model).tool(Tool::external(spec("transfer"))).open().unwrap();
    call.caller_said("Transfer it").unwrap();
    let mut reply = call.reply().unwrap();
    pass(1_000).await;
    call.caller_started_speaking(call.now_ms());
    let mut events = Vec::new();
    while let Some(event) = reply.next().await {
        events.push(event);
    }
    // No words follow a barge-in, but the conversation has the call as running.
    let [ReplyEvent::ToolCalled(called), ReplyEvent::Ended(ReplyEnd::Interrupted)] = &events[..] else {
        panic!("{events:?}")
    };
    assert!(call.tool_result(called.success(["done"])).is_applied());
}

#[tokio::test(start_paused = true)]
async fn model_gets_the_failures_of_tools() {
    let panics = |_: Value, _: ToolContext| async { panic!("a tool of the user's") };
    let hangs = |_: Value, _: ToolContext| std::future::pending::<Done>();
    let refuses = |_: Value, _: ToolContext| async { Err(ToolError::new("no such account").with_type("NotFound")) };
    let model = Scripted::new([
        vec![
            Step::Say("Let me see. "),
            Step::Call("c1", "panics"),
            Step::Call("c2", "hangs"),
            Step::Call("c3", "refuses"),
            Step::Call("c4", "nobody"),
            Step::Call("c5", "external"),
            Step::Stop(StopReason::ToolUse),
        ],
        words("I could not."),
    ]);
    let call = builder(&model)
        .tool(Tool::raw(spec("panics"), panics))
        .tool(Tool::raw(spec("hangs"), hangs))
        .tool(Tool::raw(spec("refuses"), refuses))
        .tool(Tool::external(spec("external")))
        .open()
        .unwrap();
    call.caller_said("Do it all").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "Let me see. I could not.");
    let results = &shown(&call)[2];
    for outcome in ["c1: OutcomeUnknown", "c2: OutcomeUnknown", "c3: NotFound", "c4: NotRun", "c5: OutcomeUnknown"] {
        assert!(results.contains(outcome), "{outcome} in {results}");
    }
    // A result that comes late replaces the unknown outcome, once.
    assert!(call.tool_result(result("c5", "external")).is_applied());
    assert_eq!(why_ignored(call.tool_result(result("c5", "external"))), SECOND_RESULT);
    assert!(shown(&call)[2].contains("c5: done"), "{:?}", shown(&call));
}

#[tokio::test(start_paused = true)]
async fn tool_runs_to_its_end_after_a_barge_in() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let slow = move |_: Value, _: ToolContext| {
        let runs = counted.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            runs.fetch_add(1, Ordering::SeqCst);
            Ok(vec!["transferred".into()])
        }
    };
    let model = Scripted::new([calls("One moment. ", "c1", "transfer"), words("It runs."), words("It is done.")]);
    let call = builder(&model).tool(Tool::raw(spec("transfer"), slow)).open().unwrap();
    call.caller_said("Transfer it").unwrap();
    let reply = call.reply().unwrap();
    pass(500).await;
    call.caller_said("Did you?").unwrap();
    assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
    assert_eq!(window(&call), ["user \"Transfer it\" \"Did you?\""]);
    assert_eq!(read(call.reply().unwrap()).await.0, "It runs.");
    // The memory lists the running call, which is not in the window.
    assert!(
        model.requests()[1].memory.as_deref().is_some_and(|record| record.contains("\n#1 transfer running")),
        "{:?}",
        model.requests()[1].memory
    );
    pass(2_000).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(shown(&call).last().unwrap(), "user result(c1: done)");
    assert_eq!(read(call.reply().unwrap()).await.0, "It is done.");
    assert_eq!(model.requests()[2].messages.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn tool_call_of_an_interrupted_answer_is_not_run() {
    let model = Scripted::new([
        vec![Step::Say("One "), Step::Call("c1", "balance"), Step::Wait(100), Step::Stop(StopReason::ToolUse)],
        words("Yes."),
    ]);
    let call = builder(&model).tool(Tool::raw(spec("balance"), balance)).open().unwrap();
    call.caller_said("My balance?").unwrap();
    let reply = call.reply().unwrap();
    pass(50).await;
    call.caller_started_speaking(call.now_ms());
    assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
    call.caller_said("No, wait").unwrap();
    assert_eq!(
        shown(&call)[1..],
        [
            "assistant \"One \" call(c1) heard \"\" by estimate llmInterrupted speechInterrupted",
            "user result(c1: NotRun) \"No, wait\""
        ]
    );
    assert_eq!(read(call.reply().unwrap()).await.0, "Yes.");
}

#[tokio::test(start_paused = true)]
async fn repeated_id_is_replaced() {
    let twice = vec![
        Step::Say("Both. "),
        Step::Call("c1", "balance"),
        Step::Call("c1", "balance"),
        Step::Stop(StopReason::ToolUse),
    ];
    let model = Scripted::new([calls("One moment. ", "c1", "balance"), twice, words("You have 12.50.")]);
    let call = builder(&model).tool(Tool::raw(spec("balance"), balance).read_only()).open().unwrap();
    call.caller_said("My balance?").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "One moment. Both. You have 12.50.");
    assert_eq!(shown(&call)[3], "assistant \"Both. \" call(c1-2) call(c1-3)");
    assert_eq!(shown(&call)[4], "user result(c1-2: done) result(c1-3: done)");
}

#[tokio::test(start_paused = true)]
async fn last_round_offers_no_tools() {
    let model = Scripted::new([calls("", "c1", "balance"), calls("", "c2", "balance"), words("I give up.")]);
    let call = builder(&model)
        .tool(Tool::raw(spec("balance"), balance))
        .config(|config| config.with_max_tool_rounds(2))
        .open()
        .unwrap();
    call.caller_said("My balance?").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "I give up.");
    let tools: Vec<usize> = model.requests().iter().map(|request| request.tools.len()).collect();
    assert_eq!(tools, [1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn caller_hears_no_failure_while_a_tool_runs() {
    let slow = |_: Value, _: ToolContext| async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        Ok(vec!["late".into()])
    };
    let model = Scripted::new([calls("", "c1", "slow"), words("Here it is.")]);
    let call = builder(&model).tool(Tool::raw(spec("slow"), slow)).open().unwrap();
    call.caller_said("Please").unwrap();
    let begun = tokio::time::Instant::now();
    // The deadline for the first words excludes the 12 s of the tool.
    let (text, end) = read(call.reply().unwrap()).await;
    assert_eq!((text.as_str(), end), ("Here it is.", ReplyEnd::Complete(StopReason::EndTurn)));
    assert!((12_300..13_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn close_gives_tools_half_of_its_timeout() {
    for (takes_s, outcome) in [(2, "done"), (6, "OutcomeUnknown")] {
        let slow = move |_: Value, _: ToolContext| async move {
            tokio::time::sleep(Duration::from_secs(takes_s)).await;
            Ok(vec!["transferred".into()])
        };
        let model = Scripted::new([calls("", "c1", "transfer")]);
        let call = builder(&model).tool(Tool::raw(spec("transfer"), slow)).open().unwrap();
        call.caller_said("Transfer it").unwrap();
        let reply = call.reply().unwrap();
        pass(500).await;
        call.close("hangup", Duration::from_secs(10)).await.unwrap();
        assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
        assert_eq!(shown(&call).last().unwrap(), &format!("user result(c1: {outcome})"));
        pass(10_000).await;
        assert_eq!(shown(&call).len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn tool_call_of_a_filtered_answer_is_not_run() {
    for text in ["One moment. ", ""] {
        let mut answer = calls(text, "c1", "balance");
        for step in &mut answer {
            if matches!(step, Step::Stop(_)) {
                *step = Step::Stop(StopReason::Filtered);
            }
        }
        let model = Scripted::new([answer]);
        let call = builder(&model).tool(Tool::raw(spec("balance"), balance)).open().unwrap();
        call.caller_said("My balance?").unwrap();
        let (_, end) = read(call.reply().unwrap()).await;
        pass(1_000).await;
        // The caller would wait for what the words promise.
        assert_eq!(end, ReplyEnd::Failed(None));
        let result = shown(&call).into_iter().find(|line| line.contains("result(c1")).unwrap();
        assert_eq!(result, "user result(c1: NotRun)");
        assert_eq!(model.requests().len(), 1, "the model was asked again after a filtered answer");
    }
}
