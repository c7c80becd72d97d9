//! Everything at once: conversations that are limited, forked, edited, summarised late and logged in the background. What
//! is in memory is what the log has, and both together are what was said.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use verbale::conversation::Conversation;
use verbale::log::{CallHeader, CallLog, CallWriter, LogWriter, MemoryLog, WriterSettings};
use verbale::message::Position;
use verbale::{Message, MessageId, MessageWrapper, MessagesManager, PlainMessage, Role, Summarizing};

use super::asked::{Asked, START_MS, id};
use super::limits::assert_known;
use super::random::{Asking, NAMES, Op, answer, apply, asking, op, places, query};

const WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
enum Step {
    Op(Op),
    Fork(Index),
    Edit(Index, String),
    /// Something begins to be summarised.
    Take(usize),
    /// The summary comes.
    Give,
    /// The log has everything, and whoever changes the conversation next hears of it.
    Flush,
    Query(Asking),
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
        1 => asking().prop_map(Step::Query),
    ]
}

struct Member {
    conversation: Conversation,
    writer: Arc<CallWriter>,
    summarizing: Option<Summarizing>,
    /// Whether it is a fork of one that was pruned: its log begins later.
    lacks_front: bool,
}

type Manager = MessagesManager<PlainMessage>;

fn list(conversation: &Conversation) -> Vec<Message> {
    conversation.read(|manager| manager.meta_messages().iter().map(|wrapper| wrapper.message().clone()).collect())
}

fn window(manager: &Manager) -> Vec<Message> {
    manager.messages().map(|message| message.message().clone()).collect()
}

impl Member {
    fn new(conversation: Conversation, writer: &LogWriter, lacks_front: bool) -> Self {
        let header = CallHeader::new(conversation.id().clone(), START_MS).unwrap();
        let writer = Arc::new(writer.open(header).unwrap());
        conversation.log(writer.clone());
        Self { conversation, writer, summarizing: None, lacks_front }
    }

    async fn flush(&self) {
        assert!(self.writer.flush(WITHIN).await.is_empty());
        self.conversation.change(|_| ()).unwrap();
    }

    async fn check(&self, log: &MemoryLog) -> Vec<Message> {
        self.flush().await;
        let call = log.read_call(self.conversation.id()).await.unwrap();
        let all: Vec<Message> = call.records.iter().cloned().map(Message::from).collect();
        let list = list(&self.conversation);
        assert_eq!(&all[all.len() - list.len()..], list, "what is in memory is the end of what the log has");
        if self.lacks_front {
            return all;
        }
        let whole = Manager::restore(call.records).unwrap();
        self.conversation.read(|manager| {
            let counts = |manager: &Manager| verbale::log::CallEnd::of(manager, 0, "end").unwrap();
            assert_eq!(counts(manager), counts(&whole));
            assert_eq!(manager.open_tool_calls(), whole.open_tool_calls());
            assert_eq!(manager.lineage(), whole.lineage());
            assert!(manager.system_messages().eq(whole.system_messages()));
            assert!(manager.changes(verbale::LastMessage::Include).is_empty());
            if manager.pruned() == 0 || manager.last_summary().is_some() {
                assert_eq!(manager.last_summary(), whole.last_summary());
                assert_eq!(window(manager), window(&whole));
                assert_eq!(manager.summarizing(), whole.summarizing());
            }
            assert!(window(manager).first().is_none_or(|first| first.role() == Role::User));
        });
        assert_known(&self.conversation, &all);
        all
    }
}

/// Takes the step where one of the conversations is; gives the fork, if it is one.
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
    fn memory_and_log_stay_one(
        steps in prop::collection::vec((any::<Index>(), step()), 1..90), limit in 1usize..12,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let log = Arc::new(MemoryLog::new());
            let asked = Asked::limited(limit, log.clone());
            let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
            tokio::spawn(task.run());
            let mut family: Vec<Member> = NAMES[..2]
                .iter()
                .map(|name| Member::new(asked.conversations.get_or_create(&id(name)), &writer, false))
                .collect();
            for (number, (who, step)) in steps.iter().enumerate() {
                let who = who.index(family.len());
                if let Some(fork) = forked(&family[who], step, format!("fork-{number}")) {
                    let shares = fork.read(|manager| manager.meta_messages()[0].message().position()) != Position::message(0);
                    let lacks_front = shares || family[who].lacks_front;
                    asked.conversations.insert(&fork).unwrap();
                    family.push(Member::new(fork, &writer, lacks_front));
                    continue;
                }
                let member = &mut family[who];
                match step {
                    Step::Op(op) => apply(&asked, &member.conversation, op),
                    Step::Take(turns) => {
                        member.summarizing = member.conversation.read(|manager| manager.summarizing_keeping(*turns));
                    }
                    Step::Give => if let Some(summarizing) = member.summarizing.take() {
                        // Stale, where another one came first or what it has read has changed.
                        let _ = member.conversation.change(|manager| manager.add_summary("a b", &summarizing).map(drop)).unwrap();
                    },
                    Step::Flush => member.flush().await,
                    Step::Fork(_) | Step::Edit(..) => {}
                    Step::Query(asking) => {
                        let mut everything = Vec::new();
                        for member in &family {
                            let all = member.check(&log).await;
                            everything.extend(all.into_iter().map(|message| (member.conversation.id().clone(), message)));
                        }
                        let query = query(asking, &everything);
                        let found = asked.conversations.query_with_log(&query).await.unwrap();
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
