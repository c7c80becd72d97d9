//! Who is asked: conversations in memory, or a log that has all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use verbale::clock::{IdSource, ManualClock};
use verbale::conversation::{Conversation, Conversations, Found, HistoryQuery, LogScope, QueryError, query_log};
use verbale::dynamodb::{DynamoLog, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, Day, JsonLines, MemoryLog, WriterLease};
use verbale::{Contents, LastMessage, MessageId, Role};

/// 2025-04-16, 15:03:43.058 UTC.
pub const START_MS: i64 = 1_744_815_823_058;

/// Who answers.
#[derive(Debug, Clone, Copy)]
pub enum Backend {
    Memory,
    MemoryLog,
    Files,
    DynamoDb,
}

/// Conversations, and who is asked about them.
pub struct Asked {
    pub conversations: Conversations,
    pub clock: ManualClock,
    /// With the directory that it is in, if it is in one.
    log: Option<(Arc<dyn CallLog>, Option<TempDir>)>,
}

impl Backend {
    pub async fn open(self) -> Asked {
        let log: Option<(Arc<dyn CallLog>, _)> = match self {
            Self::Memory => None,
            Self::MemoryLog => Some((Arc::new(MemoryLog::new()), None)),
            Self::Files => {
                let directory = tempfile::tempdir().unwrap();
                Some((Arc::new(JsonLines::new(directory.path())), Some(directory)))
            }
            Self::DynamoDb => {
                let client = EmbeddedDynamo::in_memory().unwrap().client();
                create_table(&client, &Table::default()).await.unwrap();
                Some((Arc::new(DynamoLog::new(client)), None))
            }
        };
        let clock = ManualClock::new(START_MS);
        let conversations = Conversations::new().with_clock(Arc::new(clock.clone()), Arc::new(ScatteredIds::default()));
        Asked { conversations, clock, log }
    }
}

impl Asked {
    /// Conversations of which only so much stays in memory, with the log for the rest.
    pub fn limited(messages: usize, log: Arc<dyn CallLog>) -> Self {
        let clock = ManualClock::new(START_MS);
        let conversations = Conversations::new()
            .with_clock(Arc::new(clock.clone()), Arc::new(ScatteredIds::default()))
            .with_history_limit(messages)
            .with_log(log);
        Self { conversations, clock, log: None }
    }

    /// Says something in a conversation, a moment later than what was said before.
    pub fn say(&self, conversation: &str, role: Role, contents: impl Into<Contents>) -> MessageId {
        self.clock.advance(1);
        self.say_at_once(conversation, role, contents)
    }

    /// The same, at the same moment.
    pub fn say_at_once(&self, conversation: &str, role: Role, contents: impl Into<Contents>) -> MessageId {
        let conversation = self.conversations.get_or_create(&id(conversation));
        conversation.change(|manager| manager.add_message(role, contents).unwrap().id()).unwrap()
    }

    /// The answer, which may come from the log: asked by the ids of calls and by their day, which is the same.
    pub async fn find(&self, query: &HistoryQuery) -> Result<Vec<Found>, QueryError> {
        let Some((log, _)) = &self.log else { return self.conversations.query(query) };
        let all = self.conversations.list();
        for conversation in &all {
            write(&**log, conversation).await;
        }
        let by_day = query_log(log, &LogScope::of_days([Day::of_ms(START_MS)]), query).await?;
        let by_ids = LogScope::of_calls(all.iter().map(|conversation| conversation.id().clone()));
        assert_eq!(query_log(log, &by_ids, query).await?, by_day);
        assert!(by_day.problems.is_empty());
        Ok(by_day.found)
    }

    /// The texts of the answer.
    pub async fn texts(&self, query: HistoryQuery) -> Vec<String> {
        texts(&self.find(&query).await.unwrap())
    }
}

/// Writes what the log does not know yet.
pub async fn write(log: &dyn CallLog, conversation: &Conversation) {
    let header = CallHeader::new(conversation.id().clone(), START_MS).unwrap();
    log.open_call(&header).await.unwrap();
    let changes = conversation.read(|manager| manager.changes(LastMessage::Include));
    for record in changes.records() {
        log.put_record(&WriterLease::of(&header), record).await.unwrap();
    }
    conversation.change(|manager| manager.acknowledge(changes.receipt())).unwrap();
}

/// What was found, as conversation and first text.
pub fn texts(found: &[Found]) -> Vec<String> {
    let text = |found: &Found| {
        let first = found.message.contents().texts().next();
        format!("{}: {}", found.conversation, first.map_or("", |text| text.as_str()))
    };
    found.iter().map(text).collect()
}

pub fn id(text: &str) -> CallId {
    CallId::new(text).unwrap()
}

pub fn everything() -> HistoryQuery {
    HistoryQuery::default()
}

/// Ids in no order: neither that of time, nor that in which they are given out.
#[derive(Debug, Default)]
pub struct ScatteredIds(AtomicU64);

impl IdSource for ScatteredIds {
    fn next_id(&self, _now_ms: i64) -> u128 {
        // An odd factor: no number comes twice.
        let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        u128::from(number) << 32
    }
}
