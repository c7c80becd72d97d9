//! One call of a history: its owners, and the promises to its service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use verbale::clock::{Clock, SequentialIds};
use verbale::log::{CallEnd, CallHeader, CallId, CallWriter, Durability, LogErrorKind, WriterLease};
use verbale::message::Position;
use verbale::{LastMessage, MessageId, MessagesManager, PlainMessage, Record, Summarizing};

use super::check::is_incomplete;
use super::trace::Trace;

pub type Manager = MessagesManager<PlainMessage>;
/// The newest message and revision at each position.
pub type Newest = BTreeMap<Position, (MessageId, u32)>;

pub struct Call {
    pub id: CallId,
    pub header: CallHeader,
    /// A text that is part of every message of the call.
    pub mark: String,
    /// The process that owns the call, or will own it.
    pub home: usize,
    /// The owner, or `None` while its process is down.
    pub owner: Option<Owner>,
    /// The earlier owners that have not noticed the takeover.
    pub zombies: Vec<Owner>,
    /// All records that were ever accepted.
    pub accepted: BTreeMap<(Position, MessageId, u32), Vec<Record>>,
    /// The records that were acknowledged to owners that are gone.
    pub promised: Newest,
    /// The same for records that may be only in the spool of the call's home.
    pub promised_at_home: Newest,
    pub was_resumed: bool,
    /// Whether a task of its writer died, so that the next one does not know the spans that were put.
    pub has_lost_task: bool,
    /// Whether a dead letter was retried, which may store it after later messages even if the retry fails.
    pub has_retried: bool,
    pub has_large: bool,
    /// The messages that were promised with all their contents.
    pub whole: BTreeSet<MessageId>,
    /// The dead letters that were stored after all.
    pub retried: Vec<Record>,
    pub is_held: bool,
    /// An erasure was requested; the end of the history shows whether it succeeded.
    pub is_erasing: bool,
    /// An erasure succeeded, and is not repeated.
    pub is_erased: bool,
    /// A rival has tried to take the call over. Its last step may land late, and then the owner has lost the call.
    pub is_disputed: bool,
    generation: u64,
}

/// A service that owns a call.
pub struct Owner {
    pub process: usize,
    pub manager: Manager,
    pub lease: WriterLease,
    /// The epoch in the table since which the owner serves.
    pub served: u32,
    /// `None` after the end of the call.
    pub writer: Option<CallWriter>,
    pub call_end: Option<CallEnd>,
    /// The records that the current writer has accepted.
    pub submitted: Newest,
    /// The records that the manager knows to be acknowledged.
    pub acknowledged: Newest,
    pub taken: Vec<Summarizing>,
    /// Whether the writer refuses all records.
    pub is_over: bool,
}

impl Call {
    pub fn new(number: u64, home: usize, start_ms: i64) -> Self {
        let id = CallId::new(format!("CA{number}")).unwrap();
        Self {
            header: CallHeader::new(id.clone(), start_ms).unwrap(),
            mark: format!("<{number}>"),
            id,
            home,
            owner: None,
            zombies: Vec::new(),
            accepted: BTreeMap::new(),
            promised: Newest::new(),
            promised_at_home: Newest::new(),
            was_resumed: false,
            has_lost_task: false,
            has_retried: false,
            has_large: false,
            whole: BTreeSet::new(),
            retried: Vec::new(),
            is_held: false,
            is_erasing: false,
            is_erased: false,
            is_disputed: false,
            generation: number << 32,
        }
    }

    /// Returns an id source whose ids no other owner uses.
    pub fn ids(&mut self) -> Arc<SequentialIds> {
        self.generation += 1;
        Arc::new(SequentialIds::from(u128::from(self.generation) << 64))
    }

    /// Sets the owner of the call.
    pub fn begin(&mut self, process: usize, writer: CallWriter, manager: Manager, clock: Arc<dyn Clock>) {
        self.is_disputed = false;
        let manager = manager.with_clock(clock, self.ids());
        self.owner = Some(Owner {
            process,
            manager,
            lease: writer.lease().clone(),
            served: writer.lease().epoch(),
            writer: Some(writer),
            call_end: None,
            submitted: Newest::new(),
            acknowledged: Newest::new(),
            taken: Vec::new(),
            is_over: false,
        });
    }

    /// Adds acknowledged records, which must stay in the log.
    pub fn promise(&mut self, acknowledged: &Newest) {
        add(&mut self.promised, acknowledged);
        for (position, (id, revision)) in acknowledged {
            let known = self.accepted.get(&(*position, *id, *revision));
            if known.is_some_and(|all| !all.iter().any(is_incomplete)) {
                self.whole.insert(*id);
            }
        }
    }

    /// Adds acknowledged records, which must survive in the spool of the home process.
    pub fn promise_at_home(&mut self, acknowledged: &Newest) {
        add(&mut self.promised_at_home, acknowledged);
    }

    /// Moves the call to another process. Records in the old process's spool become dead letters there.
    pub fn move_to(&mut self, home: usize) {
        self.home = home;
        self.promised_at_home.clear();
    }

    /// Returns the owner and zombies in a process.
    pub fn owners_in(&self, process: usize) -> impl Iterator<Item = &Owner> {
        self.zombies.iter().chain(&self.owner).filter(move |owner| owner.process == process)
    }

    /// Counts all submitted records of the owner as accepted.
    pub fn accept_all(&mut self) {
        let Some(owner) = &mut self.owner else { return };
        let new = owner.manager.new_changes(LastMessage::Include);
        let mut new = new.iter().map(|record| record.position()).peekable();
        for record in owner.manager.records() {
            if new.next_if_eq(&record.position()).is_none() {
                owner.submitted.insert(record.position(), (record.id(), record.revision()));
                let key = (record.position(), record.id(), record.revision());
                self.accepted.entry(key).or_default().push(record);
            }
        }
    }

    /// Submits the new records of the zombie `of`, or of the owner.
    pub fn submit(&mut self, of: Option<usize>, last: LastMessage, trace: &Trace) {
        let owner = match of {
            Some(zombie) => self.zombies.get_mut(zombie),
            None => self.owner.as_mut(),
        };
        let Some(owner) = owner else { return };
        let Some(writer) = &owner.writer else { return };
        writer.acknowledge(&mut owner.manager);
        let new = owner.manager.new_changes(last);
        match writer.submit(&mut owner.manager, last) {
            Ok(done) => {
                trace.count("submission found no room", u64::from(done < new.len()));
                for record in new.into_iter().take(done) {
                    owner.submitted.insert(record.position(), (record.id(), record.revision()));
                    let key = (record.position(), record.id(), record.revision());
                    self.accepted.entry(key).or_default().push(record);
                }
            }
            Err(error) => {
                let is_fenced = error.kind() == LogErrorKind::Fenced;
                let is_expected = error.kind() == LogErrorKind::Erased && self.is_erasing
                    || is_fenced && (of.is_some() || self.is_disputed);
                assert!(is_expected, "call {} is over for its owner: {error}", self.id);
                trace.count(
                    "fenced writer refused",
                    u64::from((error.kind() == LogErrorKind::Fenced) && !owner.is_over),
                );
                owner.is_over = true;
            }
        }
        owner.update_acknowledged();
    }
}

fn add(promised: &mut Newest, acknowledged: &Newest) {
    for (position, (id, revision)) in acknowledged {
        let known = promised.entry(*position).or_insert((*id, *revision));
        if known.0 == *id {
            known.1 = known.1.max(*revision);
        }
    }
}

impl Owner {
    /// Updates the records that the manager knows to be acknowledged.
    pub fn update_acknowledged(&mut self) {
        let pending = self.manager.changes(LastMessage::Include);
        let mut pending = pending.iter().map(|record| record.position()).peekable();
        for record in self.manager.records() {
            if pending.next_if_eq(&record.position()).is_none() {
                self.acknowledged.insert(record.position(), (record.id(), record.revision()));
            }
        }
    }

    /// Returns the records that survive at `level` if the process dies or loses the call.
    pub fn kept(&self, level: Durability) -> Newest {
        if level == Durability::Accepted { Newest::new() } else { self.acknowledged.clone() }
    }
}
