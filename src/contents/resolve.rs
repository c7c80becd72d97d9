//! [`resolve`]: loads the bytes of the contents that messages name, before a model reads them.

use std::collections::HashMap;

use super::attach::{BareIds, references};
use super::hydrate::{attach_loaded, load};
use super::reference::Reference;
use super::{Blob, ContentError, ContentId, ContentProblem, ContentStore, Problem};
use crate::message::{Message, Record};

/// The maximum number of contents that one call of [`resolve`] reads: the images and documents that Bedrock accepts in
/// a request.
const MAX_CONTENTS: usize = 25;
/// The maximum number of bytes that one call of [`resolve`] reads.
const MAX_BYTES: u64 = 96 << 20;

/// Replaces the content ids `sha256:…` in messages with the bytes of the contents.
///
/// Returns the messages in their order, and a [`Problem`] for each content that was not read, from the newest message
/// to the oldest. Media and documents are replaced, also in the results of tools, and so are the contents that
/// [`Offloading`](crate::log::Offloading) took out of a record. Other ids belong to the service and stay.
///
/// Reads up to 25 contents and 96 MiB. The newest messages are read first, because they matter most to the model. Each
/// content is read once, one after the other.
///
/// A content that is missing, corrupt, unreachable or beyond the limits is one problem for each message that names it.
/// Its id stays in the message, and the model gets the id as text. A [`Cached`](super::Cached) store avoids reading the
/// same contents again in later turns.
///
/// ```
/// use verbale::contents::{Blob, ContentStore, MemoryStore, resolve};
/// use verbale::message::{Media, MediaKind, Source};
/// use verbale::{Content, MessageWrapper, MessagesManager, PlainMessage};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::default();
/// # let photo = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
/// let photo = Blob::new(photo);
/// store.put(&photo, "CA1").await?;
///
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user(Content::from(Media::new(MediaKind::Image, Source::ContentId(photo.id().to_string().into()))))?;
/// let window = manager.messages().map(|message| message.message().clone());
/// let (messages, problems) = resolve(window, &store).await;
/// assert!(problems.is_empty());
/// let Content::Media(image) = &messages[0].contents()[0] else { unreachable!() };
/// assert_eq!(image.known_type().as_deref(), Some("image/png"));
/// # Ok(()) }
/// ```
pub async fn resolve<S: ContentStore + ?Sized>(
    messages: impl IntoIterator<Item = Message>,
    store: &S,
) -> (Vec<Message>, Vec<Problem>) {
    resolve_within(messages, store, MAX_CONTENTS, MAX_BYTES).await
}

async fn resolve_within<S: ContentStore + ?Sized>(
    messages: impl IntoIterator<Item = Message>,
    store: &S,
    contents_left: usize,
    bytes_left: u64,
) -> (Vec<Message>, Vec<Problem>) {
    let mut reading = Reading { store, contents_left, bytes_left, read: HashMap::new() };
    let (mut messages, mut problems) = (messages.into_iter().collect::<Vec<_>>(), Vec::new());
    for message in messages.iter_mut().rev() {
        let record = Record::from(message.clone());
        for reference in references(&record, BareIds::Resolve) {
            reading.read(reference).await;
        }
        *message = attach_loaded(&record, BareIds::Resolve, &reading.read, &mut problems).into();
    }
    (messages, problems)
}

/// The contents read so far, within the limits.
struct Reading<'a, S: ?Sized> {
    store: &'a S,
    contents_left: usize,
    bytes_left: u64,
    read: HashMap<ContentId, Result<Blob, ContentError>>,
}

impl<S: ContentStore + ?Sized> Reading<'_, S> {
    async fn read(&mut self, reference: Reference) {
        if !self.read.contains_key(&reference.id) {
            let read = self.get(reference).await;
            self.read.insert(reference.id, read);
        }
    }

    async fn get(&mut self, Reference { id, size }: Reference) -> Result<Blob, ContentError> {
        if self.contents_left == 0 || size.is_some_and(|size| size > self.bytes_left) {
            return Err(ContentProblem::BeyondLimits { id }.into());
        }
        self.contents_left -= 1;
        let blob = load(self.store, id).await?;
        let bytes = blob.bytes().len() as u64;
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(ContentProblem::BeyondLimits { id })?;
        Ok(blob)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contents::{Cached, MemoryStore};
    use crate::message::Source;

    fn message(seq: u32, image: serde_json::Value) -> Message {
        let record: Record = serde_json::from_value(json!({
            "id": crate::message::MessageId::from(u128::from(seq)).to_string(), "seq": seq, "revision": 1,
            "message": {"role": "user", "contents": [image]}, "metadata": {"timing": {"creation": 5}},
        }))
        .unwrap();
        record.into()
    }

    fn image(blob: &Blob, size: Option<usize>) -> serde_json::Value {
        let mut json = json!({"type": "image", "contentId": blob.id().to_string()});
        json.as_object_mut().unwrap().extend(size.map(|size| ("size".to_owned(), size.into())));
        json
    }

    fn is_resolved(message: &Message) -> bool {
        let content = message.contents().iter().next();
        matches!(content, Some(crate::message::Content::Media(media)) if matches!(media.source, Source::Bytes(_)))
    }

    #[test]
    fn newest_contents_are_read_within_the_limits() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = Cached::new(MemoryStore::default(), 0);
        let blobs: Vec<Blob> = [1_000, 1_001, 1_002, 1_003, 20, 30].map(|size| Blob::new(vec![7; size])).into();
        let messages: Vec<Message> = (0..).zip(&blobs).map(|(seq, blob)| message(seq, image(blob, None))).collect();
        for blob in &blobs {
            runtime.block_on(store.put(blob, "CA1")).unwrap();
        }
        let read = |contents, bytes| {
            let before = store.misses();
            let (resolved, problems) = runtime.block_on(resolve_within(messages.clone(), &store, contents, bytes));
            for problem in &problems {
                assert!(matches!(*problem.error.0, ContentProblem::BeyondLimits { id } if id == problem.content_id));
            }
            let read: Vec<bool> = resolved.iter().map(is_resolved).collect();
            assert_eq!(problems.len(), read.iter().filter(|is_read| !**is_read).count());
            (read, store.misses() - before)
        };
        assert_eq!(read(6, u64::MAX), (vec![true; 6], 6));
        assert_eq!(read(2, u64::MAX), (vec![false, false, false, false, true, true], 2));
        assert_eq!(read(0, u64::MAX), (vec![false; 6], 0));
        // If a content does not fit, an older one may use the room.
        assert_eq!(read(6, 50 + 1_001).0, [false, true, false, false, true, true]);
        assert_eq!(read(6, 0).0, [false; 6]);
    }

    #[test]
    fn known_size_beyond_the_limit_avoids_the_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (store, blob) = (Cached::new(MemoryStore::default(), 0), Blob::new(vec![7; 5_000]));
        runtime.block_on(store.put(&blob, "CA1")).unwrap();
        let messages = || [message(0, image(&blob, Some(5_000)))];
        assert_eq!(runtime.block_on(resolve_within(messages(), &store, 25, 4_999)).1.len(), 1);
        assert_eq!(store.misses(), 0);
        assert_eq!(runtime.block_on(resolve_within(messages(), &store, 25, 5_000)).1.len(), 0);
    }
}
