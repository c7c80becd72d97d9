//! [`ContentStore`]: the port to wherever contents are kept.

use std::pin::Pin;
use std::sync::Arc;

use super::{Blob, ContentError, ContentId, Owner};

/// What a [`ContentStore`] gives, later.
pub type ContentFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ContentError>> + Send + 'a>>;

/// Keeps contents under the hash of their bytes, as long as someone uses them.
///
/// What an implementor owes:
///
/// - A content is there as a whole or not at all, for whoever reads at any moment, in any process, after a crash too.
/// - What [`put`](Self::put) accepted is durable: as durable as the log that will refer to it. It stays until all for
///   whom it was put are [released](Self::release), whoever puts and releases at the same moment, in any process.
/// - Putting one content many times, at once too, is putting it once. What is damaged in its place is replaced.
/// - [`get`](Self::get) gives what was put or an error that names the content: [`Blob::verified`] sees to it.
/// - A future can be dropped at any moment, and what it did may be done in part; doing it again does the rest. What is
///   in doubt stays: rather a content that nobody uses, until its owner is released again, than one lost.
/// - It ends: every wait in it has a deadline. It does not try again by itself; errors say whether that may help.
///
/// A put for an owner that was released, such as one that was sent again and comes late, is a put like any other: the
/// owner uses the content again. Releasing it again takes it away: do so when nothing puts for it any more.
///
/// There is no way to delete one content: whoever wants it away cannot know who else uses it.
pub trait ContentStore: Send + Sync {
    /// Puts a content, which the owner uses from now on.
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()>;

    /// The content, or `None` where there is none. Errors: [`ContentError::Corrupt`], [`ContentError::Store`].
    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>>;

    /// The owner uses nothing any more: what nobody else uses is deleted. Does nothing where it used nothing.
    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()>;
}

impl<S: ContentStore + ?Sized> ContentStore for Arc<S> {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()> {
        (**self).put(blob, owner)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        (**self).get(id)
    }

    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()> {
        (**self).release(owner)
    }
}
