//! The log of calls: its trait, the background writer, and logs in memory and in files.
//!
//! This module owns the contract ([`CallLog`]) and its types: call ids, headers, leases, days and pages. It also owns
//! the background writer ([`LogWriter`]) with its [spool](Spool) and [redaction](redact()), a log in memory, a log in
//! files, and a log that moves [large contents](Offloading) into a content store. The module knows no database. Only
//! the writer retries, queues and waits.
//!
//! A service logs its calls with a [`LogWriter`]. This example uses a log without a writer:
//!
//! ```
//! use verbale::log::{CallHeader, CallId, CallLog, CallQuery, LogErrorKind, MemoryLog, WriterLease};
//! use verbale::{MessagesManager, PlainMessage, LastMessage};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let log = MemoryLog::default();
//!     let mut manager = MessagesManager::<PlainMessage>::new();
//!     let call_id = CallId::new("CA1")?;
//!     let header = CallHeader::new(call_id.clone(), 1_744_815_823_058)?;
//!     log.open_call(&header).await?;
//!     let lease = WriterLease::from(&header);
//!
//!     manager.add_user("Hi, there")?;
//!     let changes = manager.changes(LastMessage::Include);
//!     for record in &changes {
//!         log.put_record(&lease, record).await?;
//!     }
//!     manager.acknowledge(&changes);
//!
//!     assert!(MessagesManager::restore(log.read_call(&call_id).await?.records)? == manager);
//!     assert_eq!(log.list_calls(&CallQuery::of_day("2025-04-16".parse()?)).await?.calls, [header]);
//!     log.erase_call(&call_id).await?;
//!     assert!(log.read_call(&call_id).await.is_err_and(|error| error.kind() == LogErrorKind::Erased));
//!     Ok(())
//! }
//! ```

mod call;
mod call_end;
mod call_id;
mod caller;
mod change;
mod day;
mod error;
mod files;
mod header;
mod json_lines;
mod lease;
mod list;
mod memory;
mod offloading;
mod port;
mod put;
mod redaction;
mod silence;
mod span;
pub(crate) mod spool;
mod stored;
mod tenure;
mod writer;

pub use call_end::CallEnd;
pub use call_id::{CallId, Tenant};
pub use caller::CallerId;
pub use change::{CallChange, LoggedCall};
pub use day::Day;
pub use error::{LogError, LogErrorKind};
pub use header::CallHeader;
pub use json_lines::JsonLines;
pub use lease::WriterLease;
#[cfg(feature = "dynamodb")]
pub(crate) use list::CallsOf;
pub use list::{CallPage, CallQuery, Cursor};
pub use memory::MemoryLog;
pub use offloading::Offloading;
pub use port::{CallLog, LogFuture};
pub use put::Put;
pub use redaction::{CardNumbers, Pattern, Redaction, Redactor, redact};
pub(crate) use redaction::{redact_call, redact_header};
pub use span::Span;
pub(crate) use spool::RecordKey;
pub use spool::{DeadLetter, Spool, SpoolSettings};
pub(crate) use tenure::{Nonce, Refused, Standing, Tenure, TenureChange, TenureStep};
pub(crate) use writer::Submitted;
#[cfg(feature = "testing")]
pub(crate) use writer::take_over;
pub use writer::{CallWriter, Durability, LogWriter, Status, Unstored, WriterSettings};
