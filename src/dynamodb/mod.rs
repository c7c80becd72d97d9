//! The log in DynamoDB: records as items, the table, and [`DynamoLog`].
//!
//! This module owns the form of stored items ([`Item`]) and one rule of writing: a record replaces only an older
//! revision of the same message. The table therefore ends up the same, in whatever order and however often records are
//! written. The module never retries, never queues, and does not depend on managers or models.
//!
//! | | `pk` | `sk` |
//! | --- | --- | --- |
//! | the header of a call | `CALL#<call id>` | `CALL` |
//! | a message | `CALL#<call id>` | `MSG#<seq, 8 digits>` |
//! | a span of messages | `CALL#<call id>` | the key of its first message |
//! | a summary | `CALL#<call id>` | `MSG#<seq of the last message it covers, 8 digits>#SUM#<number, 4 digits>` |
//! | a fence of a resumed call | `CALL#<call id>` | the key of the next message or summary |
//! | the head of a content | `CONTENT#sha256:…` | `CONTENT` |
//! | the chunks of a content | `CONTENT#sha256:…` | `CHUNK#<generation>#<number, 4 digits>` |
//! | the users of a content | `CONTENT#sha256:…` | `USE#<call id>` |
//! | the contents of a call | `OWNER#<call id>` | `CONTENT#sha256:…` |
//!
//! One query returns a call's list in its order. The other attributes of a message or summary are the keys of the
//! record's JSON, `entity`, the schema version `v`, an optional `expires_at`, and in a resumed call `epoch`.
//!
//! A span ([`Layout::Spans`]) has one attribute per message, `m<seq>`: a map of the keys that an item of the message
//! alone has. It also has `last`, the `seq` of its last message, `rev`, a number that grows with each change, and `v`
//! 2. A call may have both forms. If two items hold the same message, the one with the highest epoch counts, and then
//! the one with the highest revision.
//!
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```ignore")]
//! use verbale::dynamodb::{DynamoLog, create_table};
//! use verbale::embedded::EmbeddedDynamo;
//! use verbale::log::{CallHeader, CallId, CallLog, WriterLease, Put};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = EmbeddedDynamo::in_memory()?.client(); // or a client for AWS, see `log_client`
//!     create_table(&client, "verbale").await?;
//!
//!     let record: verbale::Record = serde_json::from_str(
//!         r#"{ "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 0, "revision": 1,
//!              "message": { "role": "user", "contents": ["Hi, there"] },
//!              "metadata": { "timing": { "creation": 1744815823058 } } }"#,
//!     )?;
//!     let (log, call_id) = (DynamoLog::new(client), CallId::new("CA1")?);
//!     let header = CallHeader::new(call_id.clone(), 1_744_815_823_058)?;
//!     log.open_call(&header).await?;
//!     assert_eq!(log.put_record(&WriterLease::from(&header), &record).await?, Put::Written);
//!     assert_eq!(log.read_call(&call_id).await?.records, [record]);
//!     println!("{}", log.cost());
//!     Ok(())
//! }
//! ```

mod attribute;
mod call_log;
mod caller;
mod change;
mod client;
mod contents;
mod cost;
mod day;
mod erase;
mod error;
mod flat;
mod header;
mod hold;
mod item;
mod keys;
mod list;
mod log;
mod names;
mod occupied;
mod positions;
mod put;
mod put_span;
mod read;
mod resume;
mod rules;
mod size;
mod span;
mod table;
mod table_client;
mod ttl;
mod zstd;

pub use client::log_client;
pub use contents::DynamoContents;
pub use cost::Cost;
pub use item::Item;
use item::from_item;
#[doc(hidden)]
pub use item::to_items;
pub use log::{DynamoLog, Layout};
#[doc(hidden)]
pub use size::item_size;
pub use table::{create_table, table_definition};
