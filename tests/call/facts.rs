//! Facts of a live call: found by the service's rules or the library's, kept when their messages leave memory, and found
//! again by the process that resumes the call.

use std::sync::Arc;
use std::time::Duration;

use verbale::call::CallSession;
use verbale::conversation::{Config, Conversation};
use verbale::log::{CallHeader, CallId, LogWriter, MemoryLog, WriterSettings};
use verbale::memory::{Fact, FactFinder, FactSource, RuleFactFinder};
use verbale::{Message, MessagesManager, PlainMessage, Policy};

use crate::support::{START_MS, Scripted, builder, pass, turn, words};

/// Finds the plan of a caller, and what the library's rules find.
#[derive(Debug)]
struct Plans;

impl FactFinder for Plans {
    fn find(&self, message: &Message, earlier: &[&Message]) -> Vec<Fact> {
        let texts = message.contents().iter().filter_map(|content| content.as_text());
        let plan = texts.filter_map(|text| text.as_str().split_once(" plan")?.0.rsplit(' ').next());
        let plan = plan.map(|plan| Fact::new("plan", plan, FactSource::Caller).replacing("")).collect::<Vec<_>>();
        plan.into_iter().chain(RuleFactFinder.find(message, earlier)).collect()
    }
}

fn config(config: Config) -> Config {
    let policy = Policy::default().with_tokens(None).with_messages(4..=8).with_keep_turns(1);
    config.with_fact_finder(Plans).with_policy(policy)
}

fn values(conversation: &Conversation, slot: &str) -> Vec<String> {
    let facts = conversation.facts();
    facts.iter().filter(|fact| fact.slot() == slot).map(|fact| fact.value().to_owned()).collect()
}

async fn last_memory(call: &CallSession, model: &Scripted) -> String {
    turn(call, "Is that all?").await;
    model.requests().last().unwrap().memory.as_ref().unwrap().as_str().to_owned()
}

#[tokio::test(start_paused = true)]
async fn facts_of_released_messages_survive_and_are_found_again() {
    let log = Arc::new(MemoryLog::default());
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);
    let header = CallHeader::new(CallId::new("CA1").unwrap(), START_MS).unwrap();
    let model = Scripted::new([words("What is your user id?")]);
    let call = builder(&model).config(config).log(writer.open(header).unwrap()).open().unwrap();
    for said in ["Hello, I have the silver plan.", "It's mia_li_3668.", "Sorry, it is the golden plan."] {
        turn(&call, said).await;
        pass(3_000).await;
    }
    for _ in 0..20 {
        turn(&call, "Please go on, I am listening to what you say.").await;
        pass(3_000).await;
    }
    let conversation = call.conversation();
    assert!(conversation.read(MessagesManager::pruned) > 20);
    let found = |conversation: &Conversation| (values(conversation, "plan"), values(conversation, "user id"));
    let expected = (vec!["golden".to_owned()], vec!["mia_li_3668".to_owned()]);
    assert_eq!(found(conversation), expected);
    let memory = last_memory(&call, &model).await;
    assert!(memory.contains("plan=golden (corrected, was silver)") && memory.contains("mia_li_3668"), "{memory}");
    assert!(call.close("hangup", Duration::from_secs(5)).await.unwrap().unstored.is_empty());

    let (manager, writer) =
        writer.resume::<PlainMessage>(&CallId::new("CA1").unwrap(), Duration::from_secs(5)).await.unwrap();
    let resumed = builder(&model).config(config).log(writer).resume(manager).unwrap();
    assert_eq!(found(resumed.conversation()), expected);
    let memory = last_memory(&resumed, &model).await;
    assert!(memory.contains("golden") && memory.contains("mia_li_3668"), "{memory}");
}

#[tokio::test(start_paused = true)]
async fn context_gives_no_facts_and_asks_for_no_answer() {
    let model = Scripted::new([words("Hello, how can I help?"), words("Gladly.")]);
    let call = builder(&model).open().unwrap();
    turn(&call, "Hello.").await;
    pass(3_000).await;
    let conversation = call.conversation();
    conversation.edit(|edit| edit.add_context("My user id is mia_li_3668.").unwrap());
    assert!(!call.is_answerable());
    turn(&call, "My account id is ada_b_1815.").await;
    pass(3_000).await;
    assert_eq!(values(conversation, "user id"), [""; 0]);
    assert_eq!(values(conversation, "account id"), ["ada_b_1815"]);
}
