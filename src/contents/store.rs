//! [`ContentStore`]: the port to a store of contents.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{Blob, ContentError, ContentId};

/// The future that the methods of a [`ContentStore`] return.
pub type ContentFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ContentError>> + Send + 'a>>;

/// A store that keeps contents under the hash of their bytes as long as an owner uses them.
///
/// An implementation guarantees:
///
/// - **Completeness.** A reader in any process, at any time and after a crash, sees a content complete or not at all.
/// - **Durability.** A content that [`put`](Self::put) accepted is as durable as the log that will refer to it. It stays
///   until all its owners are [released](Self::release), even if others put and release it at the same time.
/// - **Idempotence.** Repeated or concurrent puts of one content have the effect of one put. A put replaces damaged bytes.
/// - **Verification.** [`get`](Self::get) returns the bytes that were put, or an error that names the content. Use
///   [`Blob::verified`].
/// - **Cancellation.** A future can be dropped at any time, and its effect may then be partial. Repeating the action
///   completes it. If a store does not know whether a content is used, the content stays: an unused content is harmless
///   and is deleted when its owner is released again.
/// - **Deadlines.** Every wait has a deadline. The store never retries; errors state whether a retry may help.
///
/// An owner is named by a text of 1 to 1,000 bytes; a log uses the id of the call.
///
/// A put for a released owner, such as a late retry, counts like any other put: the owner uses the content again. Release
/// an owner again after its last put.
///
/// A single content cannot be deleted, because the caller cannot know its other owners.
pub trait ContentStore: Send + Sync {
    /// Stores a content, which `owner` uses from now on.
    ///
    /// Returns [`ContentError`] if the store failed.
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()>;

    /// Stores a content like [`put`](Self::put), but sends no further part of it once `time` has passed. A store that takes
    /// a content in parts overrides this. It keeps the parts that it has, and the next put continues.
    ///
    /// Returns the errors of [`put`](Self::put), and a [retryable](ContentError::is_retryable) one if parts are left.
    fn put_within<'a>(&'a self, blob: &'a Blob, owner: &'a str, time: Duration) -> ContentFuture<'a, ()> {
        let _ = time;
        self.put(blob, owner)
    }

    /// Returns the content, or `None` if the store does not have it.
    ///
    /// Returns [`ContentError`] if the stored bytes are damaged, or if the store failed.
    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>>;

    /// Ends all uses of an owner, and deletes the contents that no other owner uses. Releasing an unknown owner
    /// succeeds.
    ///
    /// Returns [`ContentError`] if the store failed. Then release the owner again.
    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()>;

    /// Deletes what requests of an owner left that arrived after its [release](Self::release). Sweep once no such request
    /// can be under way any more, some minutes after the release. A store whose requests cannot arrive late releases the
    /// owner again.
    ///
    /// Returns [`ContentError`] if the store failed. Sweep the owner again then.
    fn sweep<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        self.release(owner)
    }
}

impl<S: ContentStore + ?Sized> ContentStore for Arc<S> {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()> {
        (**self).put(blob, owner)
    }

    fn put_within<'a>(&'a self, blob: &'a Blob, owner: &'a str, time: Duration) -> ContentFuture<'a, ()> {
        (**self).put_within(blob, owner, time)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        (**self).get(id)
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        (**self).release(owner)
    }

    fn sweep<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        (**self).sweep(owner)
    }
}
