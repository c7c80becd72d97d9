//! [`hydrate`]: restores records to their form before [`Offload`](super::Offload).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::attach::{BareIds, attach, references};
use super::reference::Reference;
use super::{Blob, ContentError, ContentId, ContentProblem, ContentStore};
use crate::message::{MessageId, Record};

/// A content that could not be loaded for a message.
#[derive(Debug, Clone, thiserror::Error)]
#[error("message {message_id} lacks content {content_id}")]
#[non_exhaustive]
pub struct Problem {
    /// The message that refers to the content.
    pub message_id: MessageId,
    /// The content.
    pub content_id: ContentId,
    /// The reason.
    #[source]
    pub error: ContentError,
}

/// Compares errors by their text.
impl PartialEq for Problem {
    fn eq(&self, other: &Self) -> bool {
        let key = |problem: &Self| (problem.message_id, problem.content_id, problem.error.to_string());
        key(self) == key(other)
    }
}

impl Eq for Problem {}

/// Puts the contents back into the records that refer to them. Returns the records in their order, and the contents
/// that could not be loaded. Reads each content once, one after the other.
///
/// A content that is missing, corrupt or unreachable is one problem for each message that refers to it. The reference
/// stays in the record, and everything else is restored.
pub(crate) async fn hydrate<S: ContentStore + ?Sized>(
    records: impl IntoIterator<Item = Record>,
    store: &S,
) -> (Vec<Record>, Vec<Problem>) {
    let (mut hydrated, mut problems) = (Vec::new(), Vec::new());
    let mut loaded: HashMap<ContentId, Result<Blob, ContentError>> = HashMap::new();
    for record in records {
        for Reference { id, .. } in references(&record, BareIds::Keep) {
            if let Entry::Vacant(entry) = loaded.entry(id) {
                entry.insert(load(store, id).await);
            }
        }
        hydrated.push(attach_loaded(&record, BareIds::Keep, &loaded, &mut problems));
    }
    (hydrated, problems)
}

/// Reads a content. Its bytes have the id of the blob, which a store of another crate may not have compared with the id
/// that it was asked for.
///
/// Returns an error if the content is missing, corrupt or unreachable.
pub(super) async fn load<S: ContentStore + ?Sized>(store: &S, id: ContentId) -> Result<Blob, ContentError> {
    let blob = store.get(id).await?.ok_or(ContentProblem::Missing { id })?;
    if blob.id() == id { Ok(blob) } else { Err(ContentProblem::Corrupt { id, size: blob.bytes().len() }.into()) }
}

/// Puts loaded contents into a record, and adds a problem for each content that is absent.
pub(super) fn attach_loaded(
    record: &Record,
    bare_ids: BareIds,
    loaded: &HashMap<ContentId, Result<Blob, ContentError>>,
    problems: &mut Vec<Problem>,
) -> Record {
    let (attached, failed) = attach(record, bare_ids, &mut |Reference { id, .. }| {
        loaded.get(&id).cloned().unwrap_or_else(|| Err(ContentProblem::Missing { id }.into()))
    });
    let message_id = record.id();
    problems.extend(failed.into_iter().map(|(content_id, error)| Problem { message_id, content_id, error }));
    attached
}
