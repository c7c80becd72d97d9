//! Large and binary contents, kept beside the log under the hash of their bytes.
//!
//! Owns [`ContentStore`], the port to wherever they are kept, the stores in memory and in a directory, and the two
//! ways: [`Offload`] takes them out of a record, [`hydrate`] puts them back, and [`resolve`] puts them into what a model is
//! asked. Never touches the conversation, nor a
//! record's id, position, revision or metadata.
//!
//! A content is there once, however many use it, and as long as one does: it is put for an [`Owner`], the call, and goes
//! when the last owner is [released](ContentStore::release). A store keeps no time: where calls expire by themselves,
//! their contents stay until whoever set the time releases them. [`Offloading`](crate::log::Offloading) does all of it for
//! a log.
//!
//! What went to the store is named by a *reference*: the id, the MIME type where it is known, and the size in bytes.
//!
//! | content | with its reference |
//! | --- | --- |
//! | text | `{"type": "text", "contentId": "sha256:…", "mimeType": "text/plain", "size": 2048}` |
//! | media, document | as before, with `contentId` and `size` in place of `bytes` |
//! | arguments of an invocation | `"arguments": {}`, and `"argumentsContent": {"contentId": …}` beside it |
//! | message of a failed result | `"message": "..."` in `error`, and `"messageContent": {"contentId": …}` beside it |
//! | text, JSON in a result | a document that says `"standsFor": "text"` or `"json"` |
//!
//! A reader that knows nothing of it reads such a record, pairs its calls with their results, and writes the references
//! back. A `contentId` without a `size` is a service's own, and is left alone; [`resolve`] reads it for a model. Custom data, and what a newer writer put
//! in a record, is not looked into.
//!
//! Of a message heard in part all texts go or none, and each reference says `"heard": {"bytes": 700, "by": …}` of its
//! text in place of the message; such texts come back together or not at all. For what was heard is counted over all
//! texts, and told wrong without one of them.

mod attach;
mod blob;
mod cached;
mod detach;
mod directory;
mod error;
mod heard;
mod hydrate;
mod id;
mod memory;
mod owner;
mod recent;
mod reference;
mod resolve;
mod rewrite;
mod store;

pub use blob::Blob;
pub use cached::{CacheCounts, Cached};
pub use detach::{Detached, Offload};
pub use directory::DirectoryStore;
pub use error::ContentError;
pub use hydrate::{Hydrated, Problem, hydrate};
pub use id::ContentId;
pub use memory::MemoryStore;
pub use owner::Owner;
pub use resolve::{ResolveLimits, Resolved, resolve};
pub use store::{ContentFuture, ContentStore};
