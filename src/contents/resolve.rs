//! [`resolve`]: loads the bytes of the contents that messages name, before a model reads them.

use std::collections::HashMap;

use super::attach::{BareIds, references};
use super::hydrate::attach_loaded;
use super::reference::Reference;
use super::{Blob, ContentError, ContentId, ContentStore, Problem};
use crate::message::{Message, Record};

/// The most contents and bytes that one call of [`resolve`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolveLimits {
    /// The most contents. The default is 25, the images and documents that Bedrock accepts in a request.
    pub contents: usize,
    /// The most bytes in total. The default is 96 MiB.
    pub bytes: u64,
}

impl Default for ResolveLimits {
    fn default() -> Self {
        Self { contents: 25, bytes: 96 << 20 }
    }
}

/// Replaces the content ids `sha256:…` in messages with the bytes of the contents.
///
/// Returns the messages in their order, and the contents that were not read, from the newest message to the oldest. Media
/// and documents are replaced, also in the results of tools, and so are the contents that
/// [`Offloading`](crate::log::Offloading) took out of a record. Other ids belong to the service and stay.
///
/// The newest messages are read first, because they matter most to the model. Each content is read once, one after the
/// other. A content that is missing, corrupt, out of reach or beyond the limits keeps its id, which the model gets as text,
/// and is one problem for each message that names it. A [`Cached`](super::Cached) store avoids the same reads in later
/// turns.
///
/// ```
/// use verbale::contents::{Blob, ContentStore, MemoryStore, Owner, ResolveLimits, resolve};
/// use verbale::message::{Media, MediaKind};
/// use verbale::{Content, MessageWrapper, MessagesManager, PlainMessage};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::default();
/// # let photo = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
/// let photo = Blob::new(photo);
/// store.put(&photo, &Owner::new("CA1")?).await?;
///
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user(Content::from(Media::from_content_id(MediaKind::Image, photo.id().to_string())))?;
/// let window = manager.messages().map(|message| message.message().clone());
/// let (messages, problems) = resolve(window, &store, ResolveLimits::default()).await;
/// assert!(problems.is_empty());
/// let Content::Media(image) = &messages[0].contents()[0] else { unreachable!() };
/// assert_eq!(image.known_type().as_deref(), Some("image/png"));
/// # Ok(()) }
/// ```
pub async fn resolve<S: ContentStore + ?Sized>(
    messages: impl IntoIterator<Item = Message>,
    store: &S,
    limits: ResolveLimits,
) -> (Vec<Message>, Vec<Problem>) {
    let mut reading = Reading { store, limits, gets: 0, bytes: 0, read: HashMap::new() };
    let (mut messages, mut problems) = (messages.into_iter().collect::<Vec<_>>(), Vec::new());
    for message in messages.iter_mut().rev() {
        let record = Record::from(message.clone());
        for reference in references(&record, BareIds::Resolve) {
            reading.read(reference).await;
        }
        *message = attach_loaded(&record, BareIds::Resolve, &reading.read, &mut problems).into_message();
    }
    (messages, problems)
}

/// The contents read so far, within the limits.
struct Reading<'a, S: ?Sized> {
    store: &'a S,
    limits: ResolveLimits,
    gets: usize,
    bytes: u64,
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
        let left = self.limits.bytes.saturating_sub(self.bytes);
        if self.gets >= self.limits.contents || size.is_some_and(|size| size > left) {
            return Err(ContentError::BeyondLimits { id });
        }
        self.gets += 1;
        let blob = self.store.get(id).await?.ok_or(ContentError::Missing { id })?;
        let bytes = blob.bytes().len() as u64;
        if bytes > left {
            return Err(ContentError::BeyondLimits { id });
        }
        self.bytes += bytes;
        Ok(blob)
    }
}
