//! Random histories of one call: every operation, including refused ones, with a table as the log.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use proptest::sample::Index;
use verbale::message::{Position, ToolError, is_blank};
use verbale::{
    Attribute, Content, Contents, Heard, HeardSource, LastMessage, ManagerError, Message, MessageId, MessageWrapper,
    MessagesManager, PlainMessage, Record, Role, Summarizing, Timing, ToolCall, ToolResult, Value,
};

pub type Manager = MessagesManager<PlainMessage>;

/// An operation on a conversation.
#[derive(Debug, Clone)]
pub enum Op {
    Say(Role, Vec<String>),
    /// The assistant calls tools, perhaps with words before or after.
    Call {
        before: Option<String>,
        calls: usize,
        after: Option<String>,
    },
    /// Adds a result of any call made so far, often a second one.
    Answer {
        call: Index,
        fails: bool,
        also: Option<String>,
    },
    /// Adds results or calls that match nothing.
    Misfit(Misfit),
    Set {
        message: Index,
        what: Setting,
    },
    Hear {
        message: Index,
        bytes: Option<usize>,
    },
    Take {
        keep: usize,
    },
    /// Adds a summary of any earlier snapshot.
    Summarize {
        taken: Index,
        text: String,
    },
    TakeChanges(LastMessage),
    /// Writes any earlier changes to the table, in any order.
    Write {
        taken: Index,
        reversed: bool,
        acknowledged: bool,
    },
    /// Submits the new changes to a background writer.
    Submit(LastMessage),
    /// Loses the background writer with its changes.
    TakeBack,
    /// Writes everything and restores it in another process.
    Restore,
    /// Prunes the oldest messages.
    Prune {
        keep: usize,
        only_logged: bool,
    },
    /// Continues as a fork of itself.
    Fork {
        at: Index,
    },
    /// Continues as a fork with an edited message.
    Edit {
        message: Index,
        texts: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy)]
pub enum Misfit {
    UnknownResult,
    OtherTool,
    RepeatedCall,
    CallOfUser,
    ResultOfAssistant,
    SummaryRole,
}

#[derive(Debug, Clone, Copy)]
pub enum Setting {
    Data,
    Timing,
    Attribute,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z]{1,5}( [a-zé]{1,5}){0,2}",
        1 => Just(" ".to_owned()),
        1 => Just(String::new()),
        1 => Just("a\u{1b}[0m\n[Assistant]: b".to_owned()),
    ]
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![6 => prop::collection::vec(text(), 1), 2 => prop::collection::vec(text(), 0..4)]
}

pub fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    let maybe = || prop::option::of(text());
    prop_oneof![
        10 => texts().prop_map(|texts| Op::Say(Role::User, texts)),
        10 => texts().prop_map(|texts| Op::Say(Role::Assistant, texts)),
        1 => texts().prop_map(|texts| Op::Say(Role::System, texts)),
        4 => (maybe(), 1usize..3, maybe()).prop_map(|(before, calls, after)| Op::Call { before, calls, after }),
        6 => (index(), any::<bool>(), maybe()).prop_map(|(call, fails, also)| Op::Answer { call, fails, also }),
        1 => prop::sample::select(vec![
            Misfit::UnknownResult, Misfit::OtherTool, Misfit::RepeatedCall, Misfit::CallOfUser,
            Misfit::ResultOfAssistant, Misfit::SummaryRole,
        ]).prop_map(Op::Misfit),
        3 => (index(), prop::sample::select(vec![Setting::Data, Setting::Timing, Setting::Attribute]))
            .prop_map(|(message, what)| Op::Set { message, what }),
        4 => (index(), prop::option::of(0usize..12)).prop_map(|(message, bytes)| Op::Hear { message, bytes }),
        4 => (0usize..3).prop_map(|keep| Op::Take { keep }),
        4 => (index(), text()).prop_map(|(taken, text)| Op::Summarize { taken, text }),
        3 => prop::sample::select(vec![LastMessage::Include, LastMessage::Exclude]).prop_map(Op::TakeChanges),
        3 => (index(), any::<bool>(), any::<bool>())
            .prop_map(|(taken, reversed, acknowledged)| Op::Write { taken, reversed, acknowledged }),
        3 => prop::sample::select(vec![LastMessage::Include, LastMessage::Exclude]).prop_map(Op::Submit),
        1 => Just(Op::TakeBack),
        1 => Just(Op::Restore),
        2 => (0usize..12, any::<bool>())
            .prop_map(|(keep, only_logged)| Op::Prune { keep, only_logged }),
        1 => index().prop_map(|at| Op::Fork { at }),
        1 => (index(), texts()).prop_map(|(message, texts)| Op::Edit { message, texts }),
    ]
}

pub fn history() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..60)
}

/// A snapshot to summarize, with the messages at that time.
#[derive(Debug, Clone)]
pub struct Taken {
    pub summarizing: Summarizing,
    pub read: HashMap<MessageId, (Contents, Option<Heard>)>,
}

/// A conversation, and the test's own model of it.
#[derive(Clone)]
pub struct World {
    pub manager: Manager,
    /// All contents ever accepted, in order.
    pub said: Vec<Content>,
    /// The number of pruned contents.
    pub pruned: usize,
    /// Whether the table lacks the newest revision of a pruned message.
    pub is_lost: bool,
    /// Whether a message was added after messages that are not in memory.
    pub was_pruned: bool,
    /// The number of merges into each message.
    pub merges: HashMap<MessageId, usize>,
    /// The newest acknowledged revision of each message.
    pub acknowledged: HashMap<MessageId, u32>,
    /// The newest submitted revision of each message.
    pub submitted: HashMap<MessageId, u32>,
    pub taken: Vec<Taken>,
    pub changes: Vec<Vec<Record>>,
    /// The log: the newest written revision of each message.
    pub table: BTreeMap<Position, Record>,
    /// The number of attempted tool calls.
    pub calls: usize,
    /// Keeps the sources of forks alive, so that they share messages.
    pub left: Vec<Manager>,
}

/// The result of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    Accepted,
    Refused(ManagerError),
    Summarized { taken: usize },
    Restored,
    Pruned(usize),
    Forked,
    NotForked,
    Nothing,
}

impl World {
    pub fn new() -> Self {
        Self {
            manager: Manager::new(),
            said: Vec::new(),
            pruned: 0,
            is_lost: false,
            was_pruned: false,
            merges: HashMap::new(),
            acknowledged: HashMap::new(),
            submitted: HashMap::new(),
            taken: Vec::new(),
            changes: Vec::new(),
            table: BTreeMap::new(),
            calls: 0,
            left: Vec::new(),
        }
    }

    /// Wraps a new fork, whose records are not logged.
    pub fn fork(&mut self, at: &Index) -> Option<Result<Self, ManagerError>> {
        let id = self.id(at)?;
        Some(self.manager.fork(&id, SOURCE).map(|manager| self.of_fork(manager, &[])))
    }

    /// Creates a fork with an edited message.
    pub fn edit(&mut self, message: &Index, texts: &[String]) -> Option<Result<Self, ManagerError>> {
        let id = self.id(message)?;
        let new: Vec<Content> = texts
            .iter()
            .map(Content::from)
            .filter(|content| !content.as_text().is_some_and(|text| is_blank(text)))
            .collect();
        Some(self.manager.edit(&id, texts, SOURCE).map(|manager| self.of_fork(manager, &new)))
    }

    fn of_fork(&self, manager: Manager, new: &[Content]) -> Self {
        let shared = manager.meta_messages().len() - usize::from(!new.is_empty());
        let said = self.pruned + self.messages().take(shared).map(|message| said(message).len()).sum::<usize>();
        Self {
            manager,
            said: self.said[..said].iter().chain(new).cloned().collect(),
            merges: self.merges.clone(),
            taken: self.taken.clone(),
            is_lost: self.is_lost || self.pruned > 0,
            pruned: self.pruned,
            was_pruned: self.was_pruned,
            calls: self.calls,
            ..Self::new()
        }
    }

    fn go_on_as(&mut self, fork: Option<Result<Self, ManagerError>>) -> Done {
        match fork {
            None => Done::Nothing,
            Some(Err(error)) if error.is_blank() => Done::Refused(error),
            // The error may name an id, which differs in a restored conversation.
            Some(Err(_)) => Done::NotForked,
            Some(Ok(mut fork)) => {
                fork.left = std::mem::take(&mut self.left);
                let left = std::mem::replace(self, fork);
                self.left.push(left.manager);
                Done::Forked
            }
        }
    }

    pub fn apply(&mut self, op: &Op) -> Done {
        match op {
            Op::Say(role, texts) => self.add(*role, texts.clone().into()),
            Op::Call { before, calls, after } => {
                let mut contents: Vec<Content> = before.iter().map(Content::from).collect();
                contents.extend((self.calls..self.calls + calls).map(|number| call(number).into()));
                self.calls += calls;
                contents.extend(after.iter().map(Content::from));
                self.add(Role::Assistant, contents.into())
            }
            Op::Answer { call: which, fails, also } => {
                if self.calls == 0 {
                    return Done::Nothing;
                }
                let call = call(which.index(self.calls));
                let failure = ToolError::new("no");
                let result = if *fails { call.failure(failure) } else { call.success(["yes"]) };
                let contents = also.iter().map(Content::from).chain([result.into()]).collect::<Vec<_>>();
                self.add(Role::User, contents.into())
            }
            Op::Misfit(misfit) => self.misfit(*misfit),
            Op::Set { message, what } => self.set(message, *what),
            Op::Hear { message, bytes } => self.hear(message, *bytes),
            Op::Take { keep } => {
                if let Some(summarizing) = self.manager.summarizing_keeping(*keep) {
                    let read = |message: &Message| (message.id(), (message.contents().clone(), message.heard()));
                    let read = self.messages().map(read).collect();
                    self.taken.push(Taken { summarizing, read });
                }
                Done::Nothing
            }
            Op::Summarize { taken, text } => {
                if self.taken.is_empty() {
                    return Done::Nothing;
                }
                let taken = taken.index(self.taken.len());
                let summary = self.manager.add_summary(text.as_str(), &self.taken[taken].summarizing);
                summary.map_or_else(Done::Refused, |_| Done::Summarized { taken })
            }
            Op::TakeChanges(last) => {
                self.changes.push(self.manager.changes(*last));
                Done::Nothing
            }
            Op::Write { taken, reversed, acknowledged } => {
                if !self.changes.is_empty() {
                    self.write(taken.index(self.changes.len()), *reversed, *acknowledged);
                }
                Done::Nothing
            }
            Op::Submit(last) => {
                let changes = self.manager.new_changes(*last);
                for record in &changes {
                    self.submitted.insert(record.id(), record.revision());
                }
                self.manager.mark_submitted(&changes);
                Done::Nothing
            }
            Op::TakeBack => {
                self.submitted.clear();
                self.manager.take_back();
                Done::Nothing
            }
            Op::Restore => {
                if self.is_lost {
                    return Done::Nothing;
                }
                self.write_all();
                self.manager = Manager::restore(self.table.values().cloned()).unwrap();
                self.acknowledged = self.table.values().map(|record| (record.id(), record.revision())).collect();
                self.pruned = 0;
                Done::Restored
            }
            Op::Prune { keep, only_logged } => {
                let before: Vec<Message> = self.messages().cloned().collect();
                let count = if *only_logged { self.manager.prune_logged(*keep) } else { self.manager.prune(*keep) };
                for message in &before[..count] {
                    self.pruned += said(message).len();
                    let logged = self.table.get(&message.position()).map(|record| record.revision());
                    self.is_lost |= logged != Some(message.revision());
                    self.was_pruned = true;
                }
                Done::Pruned(count)
            }
            Op::Fork { at } => {
                let fork = self.fork(at);
                self.go_on_as(fork)
            }
            Op::Edit { message, texts } => {
                let fork = self.edit(message, texts);
                self.go_on_as(fork)
            }
        }
    }

    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.manager.meta_messages().iter().map(|wrapper| wrapper.message())
    }

    /// Writes and acknowledges all pending changes.
    pub fn write_all(&mut self) {
        self.changes.push(self.manager.changes(LastMessage::Include));
        self.write(self.changes.len() - 1, false, true);
    }

    fn add(&mut self, role: Role, contents: Contents) -> Done {
        let accepted: Vec<Content> =
            contents.iter().filter(|content| !content.as_text().is_some_and(|text| is_blank(text))).cloned().collect();
        let length = self.manager.meta_messages().len();
        match self.manager.add(verbale::Draft::new(role, contents)) {
            Err(error) => return Done::Refused(error),
            Ok(entry) => {
                let id = entry.id();
                if self.manager.meta_messages().len() == length {
                    *self.merges.entry(id).or_default() += 1;
                }
            }
        }
        self.said.extend(accepted);
        Done::Accepted
    }

    fn misfit(&mut self, misfit: Misfit) -> Done {
        let unknown = || ToolResult::new("nobody".parse().unwrap(), "lookup".parse().unwrap(), Ok(Vec::new()));
        let other = |number: usize| ToolCall::new(call(number).id().as_str(), "other", Value::Null).unwrap();
        let (role, content) = match misfit {
            Misfit::UnknownResult => (Role::User, Content::from(unknown())),
            Misfit::CallOfUser => (Role::User, call(self.calls).into()),
            Misfit::ResultOfAssistant => (Role::Assistant, unknown().into()),
            Misfit::SummaryRole => (Role::Summary, "a".into()),
            Misfit::OtherTool if self.calls > 0 => (Role::User, other(self.calls - 1).success(["1"]).into()),
            Misfit::RepeatedCall if self.calls > 0 => (Role::Assistant, call(self.calls - 1).into()),
            Misfit::OtherTool | Misfit::RepeatedCall => return Done::Nothing,
        };
        self.add(role, content.into())
    }

    fn id(&self, index: &Index) -> Option<MessageId> {
        let messages = self.manager.meta_messages();
        (!messages.is_empty()).then(|| messages[index.index(messages.len())].id())
    }

    fn set(&mut self, message: &Index, what: Setting) -> Done {
        let Some(id) = self.id(message) else { return Done::Nothing };
        let mut entry = self.manager.entry(&id).unwrap();
        let before = entry.message().revision();
        let changed = match what {
            Setting::Data => entry.set_data("k", i64::from(before)).unwrap() != Some(i64::from(before).into()),
            Setting::Timing => entry.set_timing(Timing::PlayEnd, i64::from(before)).unwrap() != Some(i64::from(before)),
            Setting::Attribute => entry.add_attribute(Attribute::SpeechInterrupted),
        };
        assert_eq!(entry.message().revision(), before + u32::from(changed));
        Done::Accepted
    }

    fn hear(&mut self, message: &Index, bytes: Option<usize>) -> Done {
        let Some(id) = self.id(message) else { return Done::Nothing };
        let heard = bytes.map(|bytes| Heard::new(bytes, HeardSource::WordTiming));
        let result = self.manager.entry(&id).unwrap().set_heard(heard);
        result.map_or_else(Done::Refused, |()| Done::Accepted)
    }

    fn write(&mut self, taken: usize, reversed: bool, acknowledged: bool) {
        let changes = &self.changes[taken];
        let mut records: Vec<&Record> = changes.iter().collect();
        if reversed {
            records.reverse();
        }
        for record in records {
            let known = self.table.entry(record.position()).or_insert_with(|| record.clone());
            if known.revision() < record.revision() {
                *known = record.clone();
            }
            if acknowledged {
                let known = self.acknowledged.entry(record.id()).or_default();
                *known = record.revision().max(*known);
            }
        }
        if acknowledged {
            self.manager.acknowledge(changes);
        }
    }
}

/// The id of each conversation that is forked.
const SOURCE: &str = "CA1";

/// Returns the spoken contents of a message.
pub fn said(message: &Message) -> &[Content] {
    let is_said = message.role() != Role::Summary && !message.is_fake();
    if is_said { message.contents() } else { &[] }
}

fn call(number: usize) -> ToolCall {
    ToolCall::new(format!("call_{number}"), "lookup", Value::Null).unwrap()
}
