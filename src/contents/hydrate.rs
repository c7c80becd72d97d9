//! [`hydrate`]: records with their contents, as they were before [`Offload`](super::Offload).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::attach::{BareIds, attach, references};
use super::reference::Reference;
use super::{Blob, ContentError, ContentId, ContentStore};
use crate::message::{MessageId, Record};

/// What [`hydrate`] gives.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Hydrated {
    /// All records, in the order in which they were given. What could not be loaded is still a reference.
    pub records: Vec<Record>,
    /// What could not be loaded.
    pub problems: Vec<Problem>,
}

/// A content that could not be loaded.
#[derive(Debug, Clone, thiserror::Error)]
#[error("message {message_id} lacks content {content_id}")]
#[non_exhaustive]
pub struct Problem {
    /// The message that refers to it.
    pub message_id: MessageId,
    /// The content.
    pub content_id: ContentId,
    /// Why.
    #[source]
    pub error: ContentError,
}

/// Equal errors say the same.
impl PartialEq for Problem {
    fn eq(&self, other: &Self) -> bool {
        let key = |problem: &Self| (problem.message_id, problem.content_id, problem.error.to_string());
        key(self) == key(other)
    }
}

impl Eq for Problem {}

/// Puts the contents back that records refer to. Each is loaded once; over several calls, a
/// [`Cached`](super::Cached) store keeps what is used often.
///
/// What is missing, corrupt or out of reach is a problem each, and everything else is there: a message whose text is
/// missing keeps its place. The futures of the store are awaited one after the other.
pub async fn hydrate<S: ContentStore + ?Sized>(records: impl IntoIterator<Item = Record>, store: &S) -> Hydrated {
    let mut hydrated = Hydrated { records: Vec::new(), problems: Vec::new() };
    let mut loaded: HashMap<ContentId, Result<Blob, ContentError>> = HashMap::new();
    for record in records {
        for Reference { id, .. } in references(&record, BareIds::Stay) {
            if let Entry::Vacant(place) = loaded.entry(id) {
                let found = store.get(id).await;
                place.insert(found.and_then(|found| found.ok_or(ContentError::Missing { id })));
            }
        }
        let missing = |id| Err(ContentError::Missing { id });
        let (record, failed) = attach(&record, BareIds::Stay, &mut |Reference { id, .. }| {
            loaded.get(&id).cloned().unwrap_or_else(|| missing(id))
        });
        let message_id = record.id();
        let problems = failed.into_iter().map(|(content_id, error)| Problem { message_id, content_id, error });
        hydrated.problems.extend(problems);
        hydrated.records.push(record);
    }
    hydrated
}
