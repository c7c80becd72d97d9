//! Bedrock accepts every request of conversations that are limited, logged, summarized late and forked.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use verbale::conversation::{Conversation, Conversations};
use verbale::log::{CallHeader, CallId, CallLog, CallWriter, LogWriter, MemoryLog, WriterSettings};
use verbale::{Message, MessageWrapper, MessagesManager, PlainMessage, Summarizing};

use super::tools::weather;
use super::values::{Delta, Step, bedrock, grown, step};

#[derive(Debug, Clone)]
enum Event {
    Step(Step),
    Fork(Index),
    /// The pending summary is added, and another one starts.
    Summarize,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => step().prop_map(Event::Step),
        1 => any::<Index>().prop_map(Event::Fork),
        2 => Just(Event::Summarize),
    ];
    prop::collection::vec(event, 1..30)
}

fn list(conversation: &Conversation) -> Vec<Message> {
    conversation.read(|manager| manager.meta_messages().iter().map(|wrapper| wrapper.message().clone()).collect())
}

async fn flush(conversation: &Conversation, writer: &CallWriter) {
    assert!(writer.flush(Duration::from_secs(5)).await.is_empty());
    conversation.edit(|_| ());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_stay_valid_when_messages_leave_memory(events in events(), limit in 1_usize..6) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let log = Arc::new(MemoryLog::default());
            let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
            tokio::spawn(task);
            let logged = |conversation: &Conversation| {
                let call = Arc::new(writer.open(CallHeader::new(conversation.id().clone(), 0).unwrap()).unwrap());
                conversation.log(call.clone());
                call
            };
            let conversations = Conversations::default().with_history_limit(limit).with_log(log.clone());
            let bedrock = bedrock();
            let mut conversation = super::prompt(&bedrock).tool(weather()).agent("Be kind.").apply().unwrap();
            conversations.insert(&conversation).unwrap();
            let mut call = logged(&conversation);
            let mut summarizing: Option<Summarizing> = None;
            let mut is_complete = true;
            for (number, event) in events.iter().enumerate() {
                match event {
                    Event::Step(Step::Apply(speaker, text)) => {
                        let prompt = grown(&conversation.continuation(), &Delta::Say(*speaker, text.clone()));
                        prompt.apply().unwrap();
                    }
                    Event::Step(Step::Run(items)) => {
                        let mut run = conversation.run();
                        for _ in 0..*items {
                            let Some(Ok(_)) = run.next().await else { break };
                            flush(&conversation, &call).await;
                        }
                    }
                    Event::Fork(at) => {
                        let messages = list(&conversation);
                        let at = messages[at.index(messages.len())].id();
                        if let Ok(fork) = conversation.fork(&at, CallId::new(format!("fork-{number}")).unwrap()) {
                            is_complete &= list(&fork)[0].position().seq() == 0;
                            conversations.insert(&fork).unwrap();
                            call = logged(&fork);
                            (conversation, summarizing) = (fork, None);
                        }
                    }
                    Event::Summarize => {
                        let text = "They talk of a, b and c.";
                        if let Some(summarizing) = summarizing.take() {
                            let _ = conversation.change(|manager| manager.add_summary(text, &summarizing).map(drop)).unwrap();
                        }
                        summarizing = conversation.read(MessagesManager::summarizing);
                    }
                }
                assert!(conversation.read(|manager| manager.open_tool_calls().is_empty()));
                assert!(conversation.not_logged().is_none());
            }
            flush(&conversation, &call).await;
            let records = log.read_call(conversation.id()).await.unwrap().records;
            let all: Vec<Message> = records.iter().cloned().map(Message::from).collect();
            let list = list(&conversation);
            assert_eq!(&all[all.len() - list.len()..], list);
            if is_complete {
                let restored = MessagesManager::<PlainMessage>::restore(records).unwrap();
                conversation.read(|manager| assert!(manager.system_messages().eq(restored.system_messages())));
            }
            let asked = bedrock.requests();
            assert!(asked.iter().all(|request| request.input().system()[0].as_text().unwrap().starts_with("Be kind.")));
            assert_eq!(bedrock.counters().refused, 0);
        });
    }
}
