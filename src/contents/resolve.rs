//! [`resolve`]: messages with the bytes of what they name by a content id, for whoever asks a model.

use std::collections::HashMap;

use super::attach::{BareIds, attach, references};
use super::reference::Reference;
use super::{Blob, ContentError, ContentId, ContentStore, Problem};
use crate::message::{Message, Record};

/// What [`resolve`] reads at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResolveLimits {
    /// Contents; 25 by default: as many images and documents as Bedrock takes in a request.
    pub contents: usize,
    /// Bytes of all of them; 96 MiB by default.
    pub bytes: u64,
}

impl Default for ResolveLimits {
    fn default() -> Self {
        Self { contents: 25, bytes: 96 << 20 }
    }
}

/// What [`resolve`] gives.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resolved {
    /// All messages, in the order in which they were given. What was not read is still named by its id, which a model is
    /// told as a text.
    pub messages: Vec<Message>,
    /// What was not read, from the newest message to the oldest.
    pub problems: Vec<Problem>,
}

/// Puts the bytes of contents into messages that name them by their id, `sha256:…`: media and documents, in the results of
/// tools too, and what [`Offload`](super::Offload) took out of a record. Other ids are a service's own, and stay.
///
/// The newest messages come first, as what a model is asked about. Each content is read once. What is missing, corrupt, out
/// of reach or beyond the limits is a problem for each message that names it. The futures of the store are awaited one
/// after the other; a [`Cached`](super::Cached) store spares the reads of the turns that follow.
///
/// ```
/// use verbale::contents::{Blob, ContentStore, MemoryStore, Owner, ResolveLimits, resolve};
/// use verbale::message::{Media, MediaKind, Source};
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
/// manager.add_user(Content::from(Media::new(MediaKind::Image, Source::ContentId(photo.id().to_string().into()))))?;
/// let window = manager.messages().map(|message| message.message().clone());
/// let resolved = resolve(window, &store, ResolveLimits::default()).await;
/// let Content::Media(image) = &resolved.messages[0].contents()[0] else { unreachable!() };
/// assert_eq!(image.known_type().as_deref(), Some("image/png"));
/// # Ok(()) }
/// ```
pub async fn resolve<S: ContentStore + ?Sized>(
    messages: impl IntoIterator<Item = Message>,
    store: &S,
    limits: ResolveLimits,
) -> Resolved {
    let mut reading = Reading { store, limits, gets: 0, bytes: 0, read: HashMap::new() };
    let mut resolved = Resolved { messages: messages.into_iter().collect(), problems: Vec::new() };
    for message in resolved.messages.iter_mut().rev() {
        let record = Record::from(message.clone());
        for reference in references(&record, BareIds::Resolve) {
            reading.read(reference).await;
        }
        let (record, failed) = attach(&record, BareIds::Resolve, &mut |reference| reading.found(reference));
        let message_id = record.id();
        let problems = failed.into_iter().map(|(content_id, error)| Problem { message_id, content_id, error });
        resolved.problems.extend(problems);
        *message = record.into();
    }
    resolved
}

/// What was read so far.
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

    fn found(&self, Reference { id, .. }: Reference) -> Result<Blob, ContentError> {
        self.read.get(&id).cloned().unwrap_or(Err(ContentError::Missing { id }))
    }
}
