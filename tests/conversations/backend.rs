//! [`Backend`]: where the tests run their queries, in memory or over a log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use verbale::clock::{IdSource, ManualClock};
use verbale::conversation::{Conversation, ConversationError, Conversations, Found, HistoryQuery, LogScope, query_log};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallId, CallLog, Day, JsonLines, MemoryLog, WriterLease};
use verbale::{Contents, LastMessage, MessageId, Role};

/// 2025-04-16, 15:03:43.058 UTC.
pub const START_MS: i64 = 1_744_815_823_058;

/// Where queries run.
#[derive(Debug, Clone, Copy)]
pub enum Backend {
    Memory,
    MemoryLog,
    Files,
    DynamoDb,
}

/// Conversations, and the log that queries read.
pub struct Fixture {
    pub conversations: Conversations,
    pub clock: ManualClock,
    /// The log, with its directory if it has one.
    log: Option<(Arc<dyn CallLog>, Option<TempDir>)>,
}

impl Backend {
    pub async fn open(self) -> Fixture {
        let log: Option<(Arc<dyn CallLog>, _)> = match self {
            Self::Memory => None,
            Self::MemoryLog => Some((Arc::new(MemoryLog::default()), None)),
            Self::Files => {
                let directory = tempfile::tempdir().unwrap();
                Some((Arc::new(JsonLines::new(directory.path())), Some(directory)))
            }
            Self::DynamoDb => {
                let client = EmbeddedDynamo::in_memory().unwrap().client();
                create_table(&client, "verbale").await.unwrap();
                Some((Arc::new(DynamoLog::new(client)), None))
            }
        };
        let clock = ManualClock::new(START_MS);
        let conversations =
            Conversations::default().with_clock(Arc::new(clock.clone()), Arc::new(ScatteredIds::default()));
        Fixture { conversations, clock, log }
    }
}

impl Fixture {
    /// Returns conversations with a limit on memory, and a log.
    pub fn limited(messages: usize, log: Arc<dyn CallLog>) -> Self {
        let clock = ManualClock::new(START_MS);
        let conversations = Conversations::default()
            .with_clock(Arc::new(clock.clone()), Arc::new(ScatteredIds::default()))
            .with_history_limit(messages)
            .with_log(log);
        Self { conversations, clock, log: None }
    }

    /// Adds a message, one millisecond after the last one.
    pub fn say(&self, conversation: &str, role: Role, contents: impl Into<Contents>) -> MessageId {
        self.clock.advance(1);
        self.say_now(conversation, role, contents)
    }

    /// Adds a message, at the time of the last one.
    pub fn say_now(&self, conversation: &str, role: Role, contents: impl Into<Contents>) -> MessageId {
        let conversation = self.conversations.get_or_create(&id(conversation));
        conversation.change(|manager| manager.add(verbale::Draft::new(role, contents)).unwrap().id()).unwrap()
    }

    /// Runs a query. Over a log, checks that the scopes by id and by day return the same.
    pub async fn find(&self, query: &HistoryQuery) -> Result<Vec<Found>, ConversationError> {
        let Some((log, _)) = &self.log else { return self.conversations.query(query) };
        let all = self.conversations.list();
        for conversation in &all {
            write(&**log, conversation).await;
        }
        let by_day = query_log(log, &LogScope::of_days(None, [Day::of_ms(START_MS)]), query).await?;
        let by_ids = LogScope::of_calls(all.iter().map(|conversation| conversation.id().clone()));
        assert_eq!(query_log(log, &by_ids, query).await?, by_day);
        assert!(by_day.problems.is_empty());
        Ok(by_day.found)
    }

    /// Returns the texts of the results.
    pub async fn texts(&self, query: HistoryQuery) -> Vec<String> {
        texts(&self.find(&query).await.unwrap())
    }
}

/// Writes the changes that the log does not have.
pub async fn write(log: &dyn CallLog, conversation: &Conversation) {
    let header = CallHeader::new(conversation.id().clone(), START_MS).unwrap();
    log.open_call(&header).await.unwrap();
    let changes = conversation.read(|manager| manager.changes(LastMessage::Include));
    for record in &changes {
        log.put_record(&WriterLease::from(&header), record).await.unwrap();
    }
    conversation.change(|manager| manager.acknowledge(&changes)).unwrap();
}

/// Returns the conversation and the first text of each result.
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

/// Ids that are sorted neither by time nor by creation.
#[derive(Debug, Default)]
pub struct ScatteredIds(AtomicU64);

impl IdSource for ScatteredIds {
    fn next_id(&self, _now_ms: i64) -> u128 {
        // An odd factor makes every number unique.
        let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        u128::from(number) << 32
    }
}
