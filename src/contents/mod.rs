//! Large and binary contents, stored outside the log under the hash of their bytes.
//!
//! This module owns [`ContentStore`], the port to a store; a store in memory and one in a directory; the replacement of
//! contents by references and back; and [`resolve`], which loads contents for a model. The module never changes the
//! conversation, nor the id, position, revision or metadata of a record.
//!
//! A content is stored once and kept as long as an owner, which is a call, uses it. It is deleted when its last owner is
//! [released](ContentStore::release). A store has no expiry: release the owners of expired calls.
//! [`Offloading`](crate::log::Offloading) does all of this for a log.
//!
//! A *reference* in a record names a stored content by its id, its MIME type if known, and its size in bytes:
//!
//! | content | record with its reference |
//! | --- | --- |
//! | text | `{"type": "text", "contentId": "sha256:…", "mimeType": "text/plain", "size": 2048}` |
//! | media, document | unchanged, with `contentId` and `size` in place of `bytes` |
//! | arguments of a tool call | `"arguments": {}`, with `"argumentsContent": {"contentId": …}` beside it |
//! | message of a failed result | `"message": "..."` in `error`, with `"messageContent": {"contentId": …}` beside it |
//! | text, JSON in a result | a document with `"standsFor": "text"` or `"json"` |
//!
//! A reader without this module can read such a record, pair its tool calls with their results, and write the
//! references back. A `contentId` without a `size` belongs to the service and is kept; only [`resolve`] loads it for a
//! model. Custom data and the additions of a newer writer are kept as they are.
//!
//! If a message was heard in part, either all its texts are stored or none. Each reference then has
//! `"heard": {"bytes": 700, "by": …}` for its text, in place of the message's `heard`. Such texts are restored together or not
//! at all, because the heard part is counted over all of them.

mod attach;
mod blob;
mod cached;
mod detach;
mod directory;
mod error;
mod heard;
mod hydrate;
mod id;
mod locked;
mod memory;
mod recent;
mod reference;
mod resolve;
mod rewrite;
mod store;

pub use blob::Blob;
pub use cached::Cached;
pub(crate) use detach::Offload;
pub use directory::DirectoryStore;
pub use error::ContentError;
pub(crate) use error::ContentProblem;
pub use hydrate::Problem;
pub(crate) use hydrate::hydrate;
pub use id::ContentId;
pub(crate) use locked::Locked;
pub use memory::MemoryStore;
pub use resolve::resolve;
pub use store::{ContentFuture, ContentStore};
