//! DynamoDB: records as items, the table, and the log in it.
//!
//! Owns the form of what is stored ([`names`], [`to_item`], [`to_attribute`]) and the one rule of writing: only over
//! an older revision of the same message, so that records written in any order, any number of times, end in the same
//! table. Never retries, never queues, knows nothing of managers or models.
//!
//! | | `pk` | `sk` |
//! | --- | --- | --- |
//! | the header of a call | `CALL#<call id>` | `CALL` |
//! | a message | `CALL#<call id>` | `MSG#<seq, 8 digits>` |
//! | a summary | `CALL#<call id>` | `MSG#<seq of the last message it covers, 8 digits>#SUM#<number, 4 digits>` |
//! | a fence, in a call that was resumed | `CALL#<call id>` | that of a message or summary that is still to come |
//!
//! One query gives a call's list in its order. The other attributes are the keys of the record's JSON, `entity`, the
//! schema version `v`, where asked for `expires_at`, and in a call that was resumed `epoch`.
//!
#![cfg_attr(feature = "embedded", doc = "```")]
#![cfg_attr(not(feature = "embedded"), doc = "```ignore")]
//! use verbale::dynamodb::{CallId, DynamoLog, Put, Table, create_table};
//! use verbale::embedded::EmbeddedDynamo;
//! use verbale::log::{CallHeader, Claim};
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
//! log.open(&header).await?;
//! let (put, _cost) = log.put(&Claim::of(&header), &record).await?;
//! assert_eq!(put, Put::Written);
//!
//! let (call, _cost) = log.read(&call_id).await?;
//! assert_eq!(call.records, [record]);
//! # Ok(()) }
//! ```

mod attribute;
mod call_log;
mod change;
mod client;
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
pub mod names;
mod put;
mod read;
mod resume;
mod size;
mod table;
mod ttl;

pub use attribute::{AttributeError, from_attribute, to_attribute};
pub use client::{ATTEMPT_TIMEOUT, CONNECT_TIMEOUT, OPERATION_TIMEOUT, log_client};
pub use cost::Cost;
pub use error::DynamoError;
pub use failure::Failure;
pub use item::{Item, from_item, to_item, to_items};
pub use keys::ItemKey;
pub use log::DynamoLog;
pub use put::{PutAllError, Report};
pub use size::{MAX_ITEM_BYTES, MAX_RECORD_BYTES, item_size};
pub use table::{Creation, Table, create_table};

pub use crate::log::{CallId, Put, Stored};
