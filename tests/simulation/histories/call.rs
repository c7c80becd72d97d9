//! One call of a history: who holds it, and what its service was promised.

use std::collections::BTreeMap;
use std::sync::Arc;

use verbale::clock::{Clock, SequentialIds};
use verbale::log::{CallEnd, CallHeader, CallId, CallWriter, Durability, LogErrorKind, WriterLease};
use verbale::message::Position;
use verbale::{LastMessage, MessageId, MessagesManager, PlainMessage, Record, Summarizing};

use super::trace::Trace;

pub type Manager = MessagesManager<PlainMessage>;
/// Of each place which message, at which revision.
pub type Newest = BTreeMap<Position, (MessageId, u32)>;

pub struct Call {
    pub id: CallId,
    pub header: CallHeader,
    /// Stands in all that is said in it.
    pub mark: String,
    /// In which process it is to live.
    pub home: usize,
    /// Who holds it; nobody while its process is down.
    pub owner: Option<Owner>,
    /// Who held it before another process took it over, and has not noticed.
    pub zombies: Vec<Owner>,
    /// All that was ever accepted.
    pub accepted: BTreeMap<(Position, MessageId, u32), Vec<Record>>,
    /// What was acknowledged to those who forgot it.
    pub promised: Newest,
    /// Likewise, but the log may not have it yet: it is in the spool of the call's home.
    pub promised_at_home: Newest,
    pub was_resumed: bool,
    pub has_large: bool,
    pub is_held: bool,
    /// It was to be erased; whether it is, is known at the end.
    pub is_erasing: bool,
    /// A hole is left by what was set aside: the records are read as they are.
    pub is_broken: bool,
    generation: u64,
}

/// A service that holds a call.
pub struct Owner {
    pub process: usize,
    pub manager: Manager,
    pub lease: WriterLease,
    /// Gone once the call is over.
    pub writer: Option<CallWriter>,
    pub call_end: Option<CallEnd>,
    /// What the present writer has accepted.
    pub told: Newest,
    /// What the manager knows the log to have.
    pub acknowledged: Newest,
    pub taken: Vec<Summarizing>,
    /// Nothing is accepted any more.
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
            has_large: false,
            is_held: false,
            is_erasing: false,
            is_broken: false,
            generation: number << 32,
        }
    }

    /// Ids that no other holder of any call gives out.
    pub fn ids(&mut self) -> Arc<SequentialIds> {
        self.generation += 1;
        Arc::new(SequentialIds::starting_at(u128::from(self.generation) << 64))
    }

    /// Somebody holds it from now on.
    pub fn begin(&mut self, process: usize, writer: CallWriter, records: Vec<Record>, clock: Arc<dyn Clock>) {
        let manager = Manager::restore_with_clock(records, clock, self.ids()).unwrap();
        self.owner = Some(Owner {
            process,
            manager,
            lease: writer.lease().clone(),
            writer: Some(writer),
            call_end: None,
            told: Newest::new(),
            acknowledged: Newest::new(),
            taken: Vec::new(),
            is_over: false,
        });
    }

    /// What somebody was told to be in the log stays there.
    pub fn promise(&mut self, acknowledged: &Newest) {
        add(&mut self.promised, acknowledged);
    }

    /// What somebody was told to survive the process is there for who goes on in it.
    pub fn promise_at_home(&mut self, acknowledged: &Newest) {
        add(&mut self.promised_at_home, acknowledged);
    }

    /// Another process is to go on with it: what the spool of the last one has is set aside there.
    pub fn move_to(&mut self, home: usize) {
        self.home = home;
        self.promised_at_home.clear();
    }

    /// Owner and zombies in a process.
    pub fn owners_in(&self, process: usize) -> impl Iterator<Item = &Owner> {
        self.zombies.iter().chain(&self.owner).filter(move |owner| owner.process == process)
    }

    /// All that its owner has handed over is accepted.
    pub fn accept_all(&mut self) {
        let Some(owner) = &mut self.owner else { return };
        let new = owner.manager.new_changes(LastMessage::Include).records().to_vec();
        let mut new = new.iter().map(|record| record.position()).peekable();
        for record in owner.manager.records() {
            if new.next_if_eq(&record.position()).is_none() {
                owner.told.insert(record.position(), (record.id(), record.revision()));
                let key = (record.position(), record.id(), record.revision());
                self.accepted.entry(key).or_default().push(record);
            }
        }
    }

    /// A holder hands over what is new; `of` is a zombie, or the owner.
    pub fn submit(&mut self, of: Option<usize>, tail: LastMessage, trace: &Trace) {
        let owner = match of {
            Some(zombie) => self.zombies.get_mut(zombie),
            None => self.owner.as_mut(),
        };
        let Some(owner) = owner else { return };
        let Some(writer) = &owner.writer else { return };
        writer.acknowledge(&mut owner.manager);
        let new = owner.manager.new_changes(tail).records().to_vec();
        match writer.submit(&mut owner.manager, tail) {
            Ok(done) => {
                assert_eq!(done.is_full, done.records < new.len(), "call {}: {done:?} of {}", self.id, new.len());
                trace.count("hand-over found no room", u64::from(done.is_full));
                for record in new.into_iter().take(done.records) {
                    owner.told.insert(record.position(), (record.id(), record.revision()));
                    let key = (record.position(), record.id(), record.revision());
                    self.accepted.entry(key).or_default().push(record);
                }
            }
            Err(error) => {
                let is_fenced = error.kind() == LogErrorKind::Fenced;
                let is_expected = error.kind() == LogErrorKind::Erased && self.is_erasing || is_fenced && of.is_some();
                assert!(is_expected, "call {} is over for its owner: {error}", self.id);
                trace.count("fenced writer told", u64::from(is_fenced && !owner.is_over));
                owner.is_over = true;
            }
        }
        owner.look();
    }
}

fn add(promised: &mut Newest, acknowledged: &Newest) {
    for (place, (id, revision)) in acknowledged {
        let known = promised.entry(*place).or_insert((*id, *revision));
        if known.0 == *id {
            known.1 = known.1.max(*revision);
        }
    }
}

impl Owner {
    /// Looks at what the manager knows the log to have.
    pub fn look(&mut self) {
        let pending = self.manager.changes(LastMessage::Include).records().to_vec();
        let mut pending = pending.iter().map(|record| record.position()).peekable();
        for record in self.manager.records() {
            if pending.next_if_eq(&record.position()).is_none() {
                self.acknowledged.insert(record.position(), (record.id(), record.revision()));
            }
        }
    }

    /// What survives at `level` if the process dies, or another one takes the call over.
    pub fn kept(&self, level: Durability) -> Newest {
        if level == Durability::Accepted { Newest::new() } else { self.acknowledged.clone() }
    }
}
