//! A live call is a conversation, with queries, prompts, edits, tools, forks, limits, and turn records.

use std::sync::Arc;
use std::time::Duration;

use verbale::call::{CallBuilder, CallSession, ReplyEnd};
use verbale::conversation::ConversationErrorKind::InUse;
use verbale::conversation::{ConversationError, Conversations, HistoryQuery, Models, Prompt};
use verbale::log::{CallHeader, CallId, CallLog, LogWriter, MemoryLog, WriterSettings};
use verbale::model::{Failure, Inference, StopReason, Summarizer, SummaryFuture, Tool, ToolContext, ToolSpec};
use verbale::{Attribute, MessageWrapper, MessagesManager, PlainMessage, Role, Value};

use crate::support::{Scripted, Step, builder, calls, pass, read, shown, turn, words};

fn id(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "What it does.", Value::map([("type", Value::from("object"))]).unwrap()).unwrap()
}

fn slow(name: &str) -> Tool {
    Tool::raw(spec(name), |_: Value, _: ToolContext| async {
        pass(5_000).await;
        Ok(vec!["done".into()])
    })
}

fn assert_in_call(error: ConversationError) {
    assert!(error.kind() == InUse && error.to_string().starts_with("a live call owns the turns"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn live_call_is_found_among_conversations() {
    let conversations = Conversations::default();
    let conversation = conversations.get_or_create(&id("CA1"));
    let models = Models::default().with("default", "default", Scripted::new([words("You have 12.50.")]));
    let clerk = Prompt::new(models).agent("You answer the phone of a bank.");
    clerk.apply_to(&conversation).unwrap();
    let call = CallBuilder::of(&conversation).open().unwrap();
    turn(&call, "My balance?").await;
    let found = conversations.query(&HistoryQuery::default().with_text("balance")).unwrap();
    assert_eq!((found.len(), found[0].conversation.as_str()), (1, "CA1"));
    assert_eq!(conversation.metadata().messages, 3);
    // Only one owner may take the turns.
    assert_eq!(CallBuilder::of(&conversation).open().unwrap_err().kind(), InUse);
    call.close("hangup", Duration::from_secs(1)).await.unwrap();
    // The conversation outlives its call.
    assert_eq!(conversation.continuation().request("Summarize the call.").prompt().await.unwrap(), "okay");
    let again = CallBuilder::of(&conversation).open().unwrap();
    turn(&again, "It is me again").await;
    assert!(!call.caller_started_speaking(call.now_ms()).is_applied(), "the first call is closed");
}

#[tokio::test(start_paused = true)]
async fn call_has_the_settings_of_its_conversation_at_its_opening() {
    let model = Scripted::default();
    let models = Models::default().with("default", "default", model.clone());
    let conversation = Prompt::new(models).conversation().clone();
    let builder = CallBuilder::of(&conversation).tool(slow("transfer"));
    conversation.continuation().tool(slow("balance")).apply().unwrap();
    let call = builder.open().unwrap();
    turn(&call, "Hello").await;
    let names: Vec<_> = model.requests()[0].tools.iter().map(|tool| tool.name.as_str().to_owned()).collect();
    assert_eq!(names, ["balance", "transfer"]);
}

#[tokio::test(start_paused = true)]
async fn prompts_and_edits_on_a_live_call_change_no_words() {
    let model = Scripted::default();
    let call = builder(&model).system("You answer the phone.").tool(slow("transfer")).open().unwrap();
    turn(&call, "Hello").await;
    let conversation = call.conversation().clone();
    let prompt = conversation.continuation();

    assert_in_call(prompt.request("Pay").apply().unwrap_err());
    assert_in_call(prompt.assistant("Yes").apply().unwrap_err());
    assert_in_call(conversation.add_user("Pay").unwrap_err());
    assert_in_call(conversation.change(|_| ()).unwrap_err());
    assert_in_call(conversation.run().next().await.unwrap().unwrap_err());
    assert_in_call(conversation.finish("over", Duration::from_secs(1)).await.unwrap_err());
    assert_eq!(shown(&call).len(), 3);

    let spoken = call.conversation().read(|manager| manager.meta_messages()[2].id());
    conversation.edit(|edit| {
        edit.set_data(&spoken, "ticket", 7).unwrap();
        assert!(edit.add_attribute(&spoken, Attribute::Hardcoded).unwrap());
        edit.add_system("The office closes at six.").unwrap();
        let unknown = "01JRZJ166J2WRMF990535EVSQS".parse().unwrap();
        assert_eq!(
            edit.set_data(&unknown, "ticket", 7).unwrap_err().kind(),
            verbale::conversation::ConversationErrorKind::NotFound
        );
    });
    let prompt = prompt.agent("Be brief.").context("The caller is a gold customer.").tool(slow("balance"));
    prompt.config(|config| config.without_tool(&"transfer".parse().unwrap()).with_max_tool_rounds(0)).apply().unwrap();
    turn(&call, "My balance?").await;
    let requests = model.requests();
    let [first, last] = [&requests[0], &requests[1]];
    let texts =
        |texts: &[verbale::message::Text]| texts.iter().map(|text| text.as_str().to_owned()).collect::<Vec<_>>();
    // Later instructions follow the cached prefix, which does not change.
    assert_eq!((&first.system, first.late_system.len()), (&last.system, 0));
    assert_eq!(texts(&last.late_system), ["The office closes at six.", "Be brief."]);
    assert_eq!((first.tools[0].name.as_str(), last.tools.len()), ("transfer", 0), "no round of tools is left");
    let asked: Vec<_> = last.messages.iter().map(crate::support::line).collect();
    assert_eq!(asked[2], "user \"The caller is a gold customer.\" \"My balance?\"");
}

#[tokio::test(start_paused = true)]
async fn fork_of_a_live_call_never_runs_its_tools() {
    let model = Scripted::new([calls("One moment. ", "c1", "transfer"), words("It is done.")]);
    let call = builder(&model).tool(slow("transfer")).open().unwrap();
    call.caller_said("Transfer it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    let last = call.conversation().read(|manager| manager.meta_messages().last().unwrap().id());
    let fork = call.conversation().fork(&last, id("fork")).unwrap();
    let lines = |manager: &MessagesManager<PlainMessage>| -> Vec<String> {
        manager.meta_messages().iter().map(|message| crate::support::line(message.message())).collect()
    };
    let expected = ["user \"Transfer it\"", "assistant \"One moment. \" call(c1)", "user result(c1: OutcomeUnknown)"];
    assert_eq!(fork.read(lines), expected);
    assert_eq!(read(reply).await.0, "One moment. It is done.");
    assert_eq!(shown(&call)[2], "user result(c1: done)");
    pass(60_000).await;
    assert_eq!(fork.read(lines), expected);
    assert_eq!(fork.continuation().request("What happened?").prompt().await.unwrap(), "okay");
}

/// Summarizes everything in three words.
struct Brief;

impl Summarizer for Brief {
    fn summarize<'a>(&'a self, _: &'a verbale::Summarizing) -> SummaryFuture<'a> {
        Box::pin(std::future::ready(Ok("They talk on.".into())))
    }
}

#[tokio::test(start_paused = true)]
async fn limits_keep_the_window_and_unstored_messages_in_memory() {
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    let conversations = Conversations::default().with_history_limit(1).with_log(log.clone());
    let conversation = conversations.get_or_create(&id("CA1"));
    let policy = verbale::Policy::default().with_tokens(None).with_messages(2..=6).with_keep_turns(1);
    let models = Models::default().with("default", "default", Scripted::default());
    let config = verbale::conversation::Config::new(models).with_policy(policy).with_summarizer(Brief);
    let call = CallBuilder::of(&conversation.clone().with_config(config))
        .log(writer.open(CallHeader::new(id("CA1"), 0).unwrap()).unwrap())
        .open()
        .unwrap();
    for number in 0..12 {
        turn(&call, &format!("A question of some length, the number is {number}, and it needs an answer")).await;
    }
    // Nothing is stored yet, so nothing leaves memory.
    assert_eq!(call.conversation().read(MessagesManager::pruned), 0);
    assert!(call.conversation().read(|manager| manager.last_summary().is_some()));
    tokio::spawn(task);
    pass(1_000).await;
    turn(&call, "And one more").await;
    pass(1_000).await;
    turn(&call, "And the last").await;
    let (pruned, covered) = call.conversation().read(|manager| (manager.pruned(), manager.last_summary().is_some()));
    assert!(pruned > 0 && covered);
    // The window is complete.
    let asked: Vec<_> = crate::support::window(&call);
    assert!(asked.len() >= 4, "{asked:?}");
    call.close("hangup", Duration::from_secs(10)).await.unwrap();
    let whole = MessagesManager::<PlainMessage>::restore(log.read_call(&id("CA1")).await.unwrap().records).unwrap();
    assert!(call.conversation().read(|manager| manager.messages().eq(whole.messages())));
}

#[tokio::test(start_paused = true)]
async fn each_reply_has_a_turn_record() {
    let model = Scripted::new([
        vec![Step::Wait(300), Step::Fail(Failure::Cut)],
        calls("One moment. ", "c1", "transfer"),
        words("It is done."),
        vec![Step::Wait(100), Step::Say("Half"), Step::Stop(StopReason::MaxTokens), Step::Use(3)],
        vec![Step::Hang],
    ]);
    let call = builder(&model).tool(slow("transfer")).open().unwrap();
    turn(&call, "Transfer it").await;
    let records = |call: &CallSession| -> Vec<(Role, serde_json::Value)> {
        call.conversation().read(|manager| {
            let all = manager.meta_messages().iter().map(PlainMessage::message);
            all.filter_map(|message| Some((message.role(), serde_json::to_value(message.metadata().turn()?).unwrap())))
                .collect()
        })
    };
    let [(role, record)] = &records(&call)[..] else { panic!("{:?}", records(&call)) };
    let requests = record["requests"].as_array().unwrap();
    assert_eq!((*role, &record["end"], requests.len()), (Role::Assistant, &"complete".into(), 3));
    let failures: Vec<_> = requests.iter().map(|request| request["failure"].as_str()).collect();
    assert_eq!(failures, [Some("cut"), None, None]);
    for request in &requests[1..] {
        assert!(request["input"].as_u64().unwrap() > 50 && request["output"] == 10);
        let [after, first, took] = ["afterMs", "firstTokenMs", "tookMs"].map(|key| request[key].as_i64().unwrap());
        assert!(0 < first && first <= took && after + took <= record["tookMs"].as_i64().unwrap(), "{request}");
    }
    // A retry sends the same prompt.
    let hash = |index: usize| requests[index]["promptHash"].as_str().unwrap();
    assert!(hash(0) == hash(1) && hash(1) != hash(2));
    // The log has no tools and settings, so the hash leaves them out.
    let sent = model.requests().swap_remove(0);
    let mut prompt = sent.clone();
    prompt.tools = Arc::default();
    prompt.inference = Inference::default();
    assert_eq!(hash(0), &prompt.fingerprint()[..16]);
    // Only the first request names the model, which is the same for all.
    assert_eq!(requests.iter().filter(|request| request.get("model").is_some()).count(), 1);

    let (_, end) = {
        call.caller_said("And then?").unwrap();
        read(call.reply().unwrap()).await
    };
    assert_eq!(end, ReplyEnd::Complete(StopReason::MaxTokens));
    let (_, cut) = records(&call).pop().unwrap();
    assert_eq!((&cut["end"], &cut["reason"]), (&"cut".into(), &"maxTokens".into()));

    // A turn without a message has its record in the caller's message.
    call.caller_said("Hello?").unwrap();
    let _reply = call.reply().unwrap();
    pass(500).await;
    call.caller_started_speaking(call.now_ms());
    let (role, interrupted) = records(&call).pop().unwrap();
    assert_eq!((role, &interrupted["end"]), (Role::User, &"interrupted".into()));
    // Queries and prints show the record.
    let conversations = Conversations::default();
    conversations.insert(call.conversation()).unwrap();
    let ends = |end: &str| conversations.query(&HistoryQuery::default().with_turn_end(end)).unwrap().len();
    assert_eq!([ends("complete"), ends("cut"), ends("interrupted"), ends("failed")], [1, 1, 1, 0]);
    let print = call.conversation().read(|manager| manager.to_string());
    let shown: Vec<_> = print.lines().filter_map(|line| line.split_once("turn={")?.1.split_once('}')).collect();
    let without_hashes = |(turn, _): (&str, &str)| {
        let words: Vec<_> = turn.split(' ').collect();
        let follows_prompt = |&at: &usize| at == 0 || words[at - 1] != "prompt";
        (0..words.len()).filter(follows_prompt).map(|at| words[at]).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<_> = shown.into_iter().map(without_hashes).collect();
    assert!(
        shown[0].starts_with("complete, default prompt end 300 ms failed: cut, default prompt first "),
        "{shown:?}"
    );
    assert!(shown[1].starts_with("cut maxTokens, default prompt first token 100 ms end 100 ms tokens "), "{shown:?}");
    assert_eq!(shown[2], "interrupted, default prompt");
    // The record is in the JSON, and it can be restored.
    let (json, restored) = call.conversation().read(|manager| {
        let records = manager.records();
        let json = serde_json::to_value(&records[3]).unwrap();
        (json, MessagesManager::<PlainMessage>::restore(records).unwrap())
    });
    assert_eq!(json["metadata"]["turn"]["requests"][1]["output"], 10);
    assert!(call.conversation().read(|manager| *manager == restored));
    assert_eq!(call.conversation().metrics().turns, 3);
}

#[tokio::test(start_paused = true)]
async fn runs_summarize_and_count_their_tokens() {
    let model = Scripted::default();
    let models = Models::default().with("default", "default", model.clone());
    let llm = Prompt::new(models).agent("Answer with one word.");
    for number in 0..300 {
        llm.request(format!("Question {number} is about my order and the delivery of it?")).prompt().await.unwrap();
    }
    let requests = model.requests();
    assert_eq!(requests.len(), 300);
    assert!(requests.iter().all(|request| request.messages.len() < 60 && request.system.len() == 1));
    assert!(requests[299].memory.is_some());
    let metrics = llm.conversation().metrics();
    assert_eq!((metrics.turns, metrics.usage.output_tokens), (300, 3_000));
    assert!(metrics.summaries_applied > 5);
    // The instructions are in the conversation once.
    let is_system = |manager: &MessagesManager<PlainMessage>| manager.system_messages().count();
    assert_eq!(llm.conversation().read(is_system), 1);
}
