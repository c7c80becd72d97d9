//! DynamoDB: records as items, the table, and the log in it.
//!
//! Owns the form of what is stored ([`to_item`], [`to_attribute`]) and the one rule of writing: only over
//! an older revision of the same message, so that records written in any order, any number of times, end in the same
//! table. Never retries, never queues, knows nothing of managers or models.
//!
//! | | `pk` | `sk` |
//! | --- | --- | --- |
//! | the header of a call | `CALL#<call id>` | `CALL` |
//! | a message | `CALL#<call id>` | `MSG#<seq, 8 digits>` |
//! | a summary | `CALL#<call id>` | `MSG#<seq of the last message it covers, 8 digits>#SUM#<number, 4 digits>` |
//! | a fence, in a call that was resumed | `CALL#<call id>` | that of a message or summary that is still to come |
//! | a content: its head | `CONTENT#sha256:…` | `CONTENT` |
//! | its chunks | `CONTENT#sha256:…` | `CHUNK#<generation>#<number, 4 digits>` |
//! | who uses it | `CONTENT#sha256:…` | `USE#<call id>` |
//! | which a call uses | `OWNER#<call id>` | `CONTENT#sha256:…` |
//!
//! One query gives a call's list in its order. The other attributes are the keys of the record's JSON, `entity`, the
//! schema version `v`, where asked for `expires_at`, and in a call that was resumed `epoch`.
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```ignore")]
//! use verbale::dynamodb::{DynamoLog, Table, create_table};
//! use verbale::embedded::EmbeddedDynamo;
//! use verbale::log::{CallHeader, CallId, CallLog, WriterLease, Put};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = EmbeddedDynamo::in_memory()?.client(); // or a client for AWS, see `log_client`
//! create_table(&client, &Table::default()).await?;
//!
//! let record: verbale::Record = serde_json::from_str(
//!     r#"{ "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 0, "revision": 1,
//!          "message": { "role": "user", "contents": ["Hi, there"] },
//!          "metadata": { "timing": { "creation": 1744815823058 } } }"#,
//! )?;
//! let (log, call_id) = (DynamoLog::new(client), CallId::new("CA1")?);
//! let header = CallHeader::new(call_id.clone(), 1_744_815_823_058)?;
//! log.open_call(&header).await?;
//! assert_eq!(log.put_record(&WriterLease::of(&header), &record).await?, Put::Written);
//! assert_eq!(log.read_call(&call_id).await?.records, [record]);
//! println!("{}", log.cost());
//! # Ok(()) }
//! ```

mod attribute;
mod call_log;
mod change;
mod client;
mod contents;
mod cost;
mod day;
mod erase;
mod error;
mod failure;
mod header;
mod hold;
mod item;
mod keys;
mod list;
mod log;
mod names;
mod put;
mod read;
mod resume;
mod size;
mod table;
mod ttl;
mod write;

pub use attribute::{AttributeError, from_attribute, to_attribute};
pub use client::{ATTEMPT_TIMEOUT, CONNECT_TIMEOUT, OPERATION_TIMEOUT, log_client};
pub use contents::{CHUNK_BYTES, DynamoContents};
pub use cost::Cost;
pub use error::DynamoError;
pub use failure::Failure;
pub use item::{Item, from_item, to_item, to_items};
pub use keys::ItemKey;
pub use log::DynamoLog;
pub use size::{MAX_ITEM_BYTES, MAX_RECORD_BYTES, item_size};
pub use table::{Creation, Table, create_table};

pub use crate::log::CallId;
