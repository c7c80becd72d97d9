//! [`ContentStore`]: the port to wherever contents are kept.

use std::pin::Pin;
use std::sync::Arc;

use super::{Blob, ContentError, ContentId};

/// What a [`ContentStore`] gives, later.
pub type ContentFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ContentError>> + Send + 'a>>;

/// Keeps contents under the hash of their bytes.
///
/// What an implementor owes:
///
/// - A content is there as a whole or not at all, for whoever reads at any moment, in any process, after a crash too.
/// - What [`put`](Self::put) accepted is durable: as durable as the log that will refer to it.
/// - Putting one content many times, at once too, is putting it once. What is damaged in its place is replaced.
/// - [`get`](Self::get) gives what was put or an error that names the content: [`Blob::verified`] sees to it.
/// - A future can be dropped at any moment; a put or a delete may then happen or not. Nothing else is touched by it.
/// - It ends: every wait in it has a deadline. It does not try again by itself; errors say whether that may help.
///
/// A store does not know who uses a content. Whoever deletes one must know that no record refers to it, nor is about
/// to: between a put and the record that needs it there is a moment.
pub trait ContentStore: Send + Sync {
    /// Puts a content. Does nothing where it is already there, and whole.
    fn put<'a>(&'a self, blob: &'a Blob) -> ContentFuture<'a, ()>;

    /// The content, or `None` where there is none. Errors: [`ContentError::Corrupt`], [`ContentError::Store`].
    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>>;

    /// Deletes a content. Does nothing where there is none.
    fn delete(&self, id: ContentId) -> ContentFuture<'_, ()>;
}

impl<S: ContentStore + ?Sized> ContentStore for Arc<S> {
    fn put<'a>(&'a self, blob: &'a Blob) -> ContentFuture<'a, ()> {
        (**self).put(blob)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        (**self).get(id)
    }

    fn delete(&self, id: ContentId) -> ContentFuture<'_, ()> {
        (**self).delete(id)
    }
}
