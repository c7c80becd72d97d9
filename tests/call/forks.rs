//! Forks of conversations: they share the memory of their source as it was at the fork, and never touch its tool calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use verbale::call::CallBuilder;
use verbale::conversation::{Config, Conversation, Models};
use verbale::log::{CallHeader, CallId, LogWriter, MemoryLog, WriterSettings};
use verbale::memory::{Fact, FactFinder, FactSource};
use verbale::model::{ModelRequest, Tool, ToolContext, ToolSpec};
use verbale::{Content, Message, MessageId, MessageWrapper, PlainMessage, Policy, ToolCall, Value};

use crate::support::{START_MS, Scripted, Step, builder, calls, line, pass, turn, words};

fn id(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "What it does.", Value::map([("type", Value::from("object"))]).unwrap()).unwrap()
}

fn quick(name: &str) -> Tool {
    Tool::raw(spec(name), |_: Value, _: ToolContext| async { Ok(vec!["KL305T".into()]) })
}

fn last(conversation: &Conversation) -> MessageId {
    conversation.read(|manager| manager.meta_messages().last().unwrap().id())
}

fn lines(conversation: &Conversation) -> Vec<String> {
    conversation.read(|manager| manager.meta_messages().iter().map(|it| line(it.message())).collect())
}

/// A conversation whose window holds a few turns.
fn conversation(model: &Scripted, change: impl FnOnce(Config) -> Config) -> Conversation {
    let models = Models::default().with("default", "default", model.clone());
    let policy = Policy::default().with_tokens(None).with_messages(4..=8).with_keep_turns(1);
    Conversation::new(id("CA1")).with_config(change(Config::new(models).with_policy(policy)))
}

async fn ask(conversation: &Conversation, said: &str) -> String {
    let answer = conversation.continuation().request(said).prompt().await.unwrap();
    // The summary is made in the background.
    pass(1_000).await;
    answer.as_str().to_owned()
}

const LONG: &str = "I would like to know what became of my order 4711, which I made three weeks ago, please.";

#[tokio::test(start_paused = true)]
async fn fork_anywhere_remembers_what_its_messages_say() {
    let answers = (0..8).flat_map(|turn| match turn % 4 {
        0 => vec![calls("One moment. ", ["c0", "c4"][turn / 4], "book"), words("It is booked.")],
        1 => vec![words("It is as you say, and it comes on Friday.")],
        2 => vec![calls("", ["c2", "c6"][turn / 4], "look"), words("I found it for you.")],
        _ => vec![vec![Step::Say("I"), Step::Fail(verbale::model::Failure::Cut)]],
    });
    let model = Scripted::new(answers.collect::<Vec<_>>());
    let source = conversation(&model, |config| config.with_tool(quick("book")).with_tool(quick("look").read_only()));
    for number in 0..8 {
        let _ = source.continuation().request(format!("{LONG} {number}")).prompt().await;
        pass(1_000).await;
    }
    let all = source.read(|manager| manager.meta_messages().iter().map(|it| it.id()).collect::<Vec<_>>());
    let request = async |conversation: Conversation| {
        ask(&conversation, "And then?").await;
        let ModelRequest { memory, messages, .. } = model.requests().last().unwrap().clone();
        (memory.map(|memory| memory.as_str().to_owned()), messages.iter().map(line).collect::<Vec<_>>())
    };
    let mut remembered = 0;
    for at in all {
        let mut copy = source.read(Clone::clone);
        let rebuilt = copy.fork(&at, "CA1").unwrap();
        if !rebuilt.open_tool_calls().is_empty() {
            continue;
        }
        let rebuilt = request(Conversation::from_manager(id("CA3"), rebuilt).with_config(source.config())).await;
        let fork = source.fork(&at, id("CA2")).unwrap();
        let grandchild = fork.fork(&at, id("CA4")).unwrap();
        assert_eq!(request(fork).await, rebuilt);
        assert_eq!(request(grandchild).await, rebuilt);
        remembered += usize::from(rebuilt.0.is_some_and(|memory| memory.contains("#1 book")));
    }
    assert!(remembered > 5, "{remembered}");
}

/// Counts the messages that are searched for facts.
#[derive(Debug, Clone, Default)]
struct Counting(Arc<AtomicUsize>);

impl FactFinder for Counting {
    fn find(&self, _: &Message, _: &[&Message]) -> Vec<Fact> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Vec::new()
    }
}

#[tokio::test(start_paused = true)]
async fn fork_searches_no_message_again_however_long_the_call() {
    for turns in [20, 80] {
        let searched = Counting::default();
        let source = conversation(&Scripted::default(), |config| config.with_fact_finder(searched.clone()));
        for _ in 0..turns {
            ask(&source, LONG).await;
        }
        let at = last(&source);
        searched.0.store(0, Ordering::SeqCst);
        let forks: Vec<_> = (0..20).map(|number| source.fork(&at, id(&format!("CA-{number}"))).unwrap()).collect();
        assert_eq!(searched.0.load(Ordering::SeqCst), 0);
        for fork in &forks {
            ask(fork, "And then?").await;
        }
        // Of each fork, at most the messages that leave its window.
        let searched = searched.0.load(Ordering::SeqCst);
        assert!(searched <= 20 * 8, "{turns} turns: {searched} messages are searched");
    }
}

#[tokio::test(start_paused = true)]
async fn edit_searches_only_the_edited_message_again() {
    let searched = Counting::default();
    let source = conversation(&Scripted::default(), |config| config.with_fact_finder(searched.clone()));
    for _ in 0..60 {
        ask(&source, LONG).await;
    }
    let all = source.read(|manager| manager.meta_messages().iter().map(|it| it.id()).collect::<Vec<_>>());
    searched.0.store(0, Ordering::SeqCst);
    for at in [&all[2], &all[9], &all[40]] {
        source.edit(|edit| edit.set_data(at, "ticket", 7).unwrap());
        source.edit(|edit| edit.add_context("The caller is a gold customer.").unwrap());
    }
    ask(&source, "And then?").await;
    // The edited ones, and those that leave the window.
    let searched = searched.0.load(Ordering::SeqCst);
    assert!((3..=11).contains(&searched), "{searched} messages are searched");
}

#[tokio::test(start_paused = true)]
async fn fork_outside_of_a_call_ends_its_open_calls() {
    let source = conversation(&Scripted::default(), |config| config);
    let call = ToolCall::new("c1", "book", Value::Null).unwrap();
    source.add_user("Book it").unwrap();
    let asked = source.add_assistant([Content::from("One moment."), call.clone().into()]).unwrap();
    let fork = source.fork(&asked, id("CA2")).unwrap();
    assert_eq!(lines(&fork)[2], "user result(c1: OutcomeUnknown)");
    assert_eq!((source.open_tool_calls().len(), fork.open_tool_calls().len()), (1, 0));
    // A fork of the fork has the same result, once.
    assert_eq!(lines(&fork.fork(&last(&fork), id("CA3")).unwrap()), lines(&fork));

    // The result that comes later is the source's, and another one may take its place in a fork.
    let answered = source.add_user(Content::from(call.success("BOOKED-7"))).unwrap();
    assert_eq!(lines(&source.fork(&asked, id("CA4")).unwrap())[2], "user result(c1: OutcomeUnknown)");
    let edited = source.fork_edited(&answered, Content::from(call.success("BOOKED-8")), id("CA5")).unwrap();
    assert_eq!(lines(&edited)[2..], ["user result(c1: done)"]);
    let facts = |conversation: &Conversation| -> Vec<String> {
        let of_tools = |fact: &&Fact| fact.source() == FactSource::Tool;
        conversation.facts().iter().filter(of_tools).map(|fact| fact.value().to_owned()).collect()
    };
    assert_eq!((facts(&source), facts(&edited)), (vec!["BOOKED-7".to_owned()], vec!["BOOKED-8".to_owned()]));
    assert_eq!(facts(&source.fork(&asked, id("CA6")).unwrap()), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn fork_resumes_only_its_own_acts() {
    let (log, looked_up) = (Arc::new(MemoryLog::default()), Arc::new(Mutex::new(Vec::new())));
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let ship = || {
        let looked_up = looked_up.clone();
        let tool = Tool::external(spec("ship")).acts_once().same_act(|_, _| false);
        tool.resume(move |context| {
            looked_up.lock().unwrap().push(context.tool_call_id().to_string());
            async { Ok(Some(vec!["shipped".into()])) }
        })
    };
    let model = Scripted::new([
        calls("One moment. ", "c1", "ship"),
        words("I do not know yet."),
        calls("One moment. ", "c2", "ship"),
        words("I do not know either."),
    ]);
    let open = |name: &str| writer.open(CallHeader::new(id(name), START_MS).unwrap()).unwrap();
    let source = builder(&model).tool(ship()).log(open("CA1")).open().unwrap();
    turn(&source, "Ship it").await;
    let fork = source.conversation().fork(&last(source.conversation()), id("CA2")).unwrap();
    let call = CallBuilder::of(&fork).log(open("CA2")).open().unwrap();
    turn(&call, "Ship the other one").await;
    assert_eq!(*looked_up.lock().unwrap(), Vec::<String>::new());
    call.close("hangup", Duration::from_secs(5)).await.unwrap();

    // Another process knows from the log which calls are the fork's own.
    let (manager, handle) = writer.resume::<PlainMessage>(&id("CA2"), Duration::from_secs(5)).await.unwrap();
    let resumed = builder(&model).tool(ship()).log(handle).resume(manager).unwrap();
    pass(1_000).await;
    assert_eq!(*looked_up.lock().unwrap(), ["c2"]);
    let again = resumed.conversation().fork(&last(resumed.conversation()), id("CA3")).unwrap();
    let _call = CallBuilder::of(&again).log(open("CA3")).open().unwrap();
    pass(1_000).await;
    assert_eq!(looked_up.lock().unwrap().len(), 1, "a fork of the fork looks up nothing");
}
