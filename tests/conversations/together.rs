//! All features together: conversations that are limited, forked, edited, summarized late and logged in the background.
//! Memory and log agree, and together they have every message.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use verbale::conversation::Conversation;
use verbale::log::{CallHeader, CallLog, CallWriter, LogWriter, MemoryLog, WriterSettings};
use verbale::{Message, MessageId, MessageWrapper, MessagesManager, PlainMessage, Role, Summarizing};

use super::backend::{Fixture, START_MS, id};
use super::limits::assert_metadata;
use super::random::{NAMES, Op, QuerySpec, answer, apply, op, places, query_specs};

const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
enum Step {
    Op(Op),
    Fork(Index),
    Edit(Index, String),
    /// Starts a summary.
    Take(usize),
    /// Adds the summary.
    Give,
    /// Flushes the log, and acknowledges its records with the next change.
    Flush,
    Query(QuerySpec),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    prop_oneof![
        16 => op().prop_map(Step::Op),
        1 => index().prop_map(Step::Fork),
        1 => (index(), "[ab]{1,3}").prop_map(|(message, text)| Step::Edit(message, text)),
        2 => (0usize..2).prop_map(Step::Take),
        2 => Just(Step::Give),
        4 => Just(Step::Flush),
        1 => query_specs().prop_map(Step::Query),
    ]
}

struct Member {
    conversation: Conversation,
    writer: Arc<CallWriter>,
    summarizing: Option<Summarizing>,
    /// Whether it is a fork of a pruned conversation, so that its log starts later.
    lacks_start: bool,
}

type Manager = MessagesManager<PlainMessage>;

fn list(conversation: &Conversation) -> Vec<Message> {
    conversation.read(|manager| manager.meta_messages().iter().map(|wrapper| wrapper.message().clone()).collect())
}

fn window(manager: &Manager) -> Vec<Message> {
    manager.messages().map(|message| message.message().clone()).collect()
}

impl Member {
    fn new(conversation: Conversation, writer: &LogWriter, lacks_start: bool) -> Self {
        let header = CallHeader::new(conversation.id().clone(), START_MS).unwrap();
        let writer = Arc::new(writer.open(header).unwrap());
        conversation.log(writer.clone());
        Self { conversation, writer, summarizing: None, lacks_start }
    }

    async fn flush(&self) {
        assert!(self.writer.flush(TIMEOUT).await.is_empty());
        self.conversation.change(|_| ()).unwrap();
    }

    async fn check(&self, log: &MemoryLog) -> Vec<Message> {
        self.flush().await;
        let call = log.read_call(self.conversation.id()).await.unwrap();
        let all: Vec<Message> = call.records.iter().cloned().map(Message::from).collect();
        let list = list(&self.conversation);
        assert_eq!(&all[all.len() - list.len()..], list, "memory is the end of the log");
        if self.lacks_start {
            return all;
        }
        let restored = Manager::restore(call.records).unwrap();
        self.conversation.read(|manager| {
            assert_eq!(manager.message_count(), restored.message_count());
            assert_eq!(manager.open_tool_calls(), restored.open_tool_calls());
            assert_eq!(manager.lineage(), restored.lineage());
            assert!(manager.system_messages().eq(restored.system_messages()));
            assert!(manager.changes(verbale::LastMessage::Include).is_empty());
            if manager.pruned() == 0 || manager.last_summary().is_some() {
                assert_eq!(manager.last_summary(), restored.last_summary());
                assert_eq!(window(manager), window(&restored));
                assert_eq!(manager.summarizing(), restored.summarizing());
            }
            assert!(window(manager).first().is_none_or(|first| first.role() == Role::User));
        });
        assert_metadata(&self.conversation, &all);
        all
    }
}

/// Forks the conversation if the step says so, and returns the fork.
fn forked(member: &Member, step: &Step, name: String) -> Option<Conversation> {
    let messages: Vec<MessageId> = list(&member.conversation).iter().map(Message::id).collect();
    let some = |index: &Index| (!messages.is_empty()).then(|| messages[index.index(messages.len())]);
    match step {
        Step::Fork(at) => member.conversation.fork(&some(at)?, id(&name)).ok(),
        Step::Edit(message, text) => member.conversation.fork_edited(&some(message)?, text.as_str(), id(&name)).ok(),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_log_agree(
        steps in prop::collection::vec((any::<Index>(), step()), 1..90), limit in 1usize..12,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let log = Arc::new(MemoryLog::default());
            let fixture = Fixture::limited(limit, log.clone());
            let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
            tokio::spawn(task);
            let mut family: Vec<Member> = NAMES[..2]
                .iter()
                .map(|name| Member::new(fixture.conversations.get_or_create(&id(name)), &writer, false))
                .collect();
            for (number, (who, step)) in steps.iter().enumerate() {
                let who = who.index(family.len());
                if let Some(fork) = forked(&family[who], step, format!("fork-{number}")) {
                    let shares = fork.read(|manager| manager.meta_messages()[0].message().position().seq()) != 0;
                    let lacks_start = shares || family[who].lacks_start;
                    fixture.conversations.insert(&fork).unwrap();
                    family.push(Member::new(fork, &writer, lacks_start));
                    continue;
                }
                let member = &mut family[who];
                match step {
                    Step::Op(op) => apply(&fixture, &member.conversation, op),
                    Step::Take(turns) => {
                        member.summarizing = member.conversation.read(|manager| manager.summarizing_keeping(*turns));
                    }
                    Step::Give => if let Some(summarizing) = member.summarizing.take() {
                        // It may be stale, if another one came first or its messages have changed.
                        let _ = member.conversation.change(|manager| manager.add_summary("a b", &summarizing).map(drop)).unwrap();
                    },
                    Step::Flush => member.flush().await,
                    Step::Fork(_) | Step::Edit(..) => {}
                    Step::Query(spec) => {
                        let mut everything = Vec::new();
                        for member in &family {
                            let all = member.check(&log).await;
                            everything.extend(all.into_iter().map(|message| (member.conversation.id().clone(), message)));
                        }
                        let query = spec.resolve(&everything);
                        let found = fixture.conversations.query_with_log(&query.build()).await.unwrap();
                        assert_eq!(places(&found.found), answer(&query, &everything), "{query:?}");
                    }
                }
            }
            for member in &family {
                member.check(&log).await;
            }
        });
    }
}
