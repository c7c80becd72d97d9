//! The messages of Amazon Bedrock's
//! [Converse](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html), as JSON on the wire.

mod blocks;
mod formats;
mod media;
mod read;
mod results;
mod write;

use std::sync::Arc;

use super::error::ExchangeError;
use super::export::Export;
use super::intake::read_all;
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// The conversation of a Converse request: an object with `messages` and maybe `system`, whose other keys are not read;
/// or the list of messages alone.
///
/// - Each text of `system`, and each message of role `system`, is a supervisor message.
/// - Blocks are `text`, `image`, `video`, `audio`, `document`, `toolUse` and `toolResult`. Their `format` becomes a MIME type; a
///   `source` is bytes in base64 or an `s3Location`. A `cachePoint` is the request's, and no part of the conversation.
/// - A `toolResult` with the `status` `error` holds one text. A call whose id was used before, and answered, gets
///   another: `call_1-2`.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage};
/// # use verbale::exchange::converse;
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let json = r#"{"system":[{"text":"You are a bank."}],"messages":[{"role":"user","content":[{"text":"Hi"}]}]}"#;
/// let manager: MessagesManager<PlainMessage> = converse::import(json)?;
/// assert_eq!(converse::export(&manager).text, json);
/// # Ok(()) }
/// ```
///
/// Errors: not of this form; what would be lost, as `reasoningContent`, `guardContent`, `citationsContent`, the owner of a
/// bucket, the context of a document; a result before its call, or a second one; a message that says nothing; too deep, or
/// too dense.
pub fn import<W: MessageWrapper>(json: impl AsRef<[u8]>) -> Result<MessagesManager<W>, ExchangeError> {
    import_with_clock(json, Arc::new(SystemClock), Arc::new(SystemIds))
}

/// As [`import`], with time and ids from elsewhere: the messages have none.
pub fn import_with_clock<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    read_all(json.as_ref(), |reader| read::conversation(reader, &clock, &ids))
}

/// The conversation as `system` and `messages` of Converse.
///
/// The texts of the supervisor messages in front are `system`; later ones are messages of role `system`. Messages
/// of one role that follow each other are one. Always left out are ids of messages, times, marks, custom data, steps, and fakes. A document without a title is called `document`. A
/// message says what it says: what `BedrockMessage` mends, as blank results and arguments that are no object, is not
/// mended here.
///
/// [Losses](Export::losses) are summaries; what was not heard; media and documents that are not the user's, or
/// that are neither bytes nor at an `s3://` URL,
/// or whose MIME type Converse has no format for; labels; the type of a failure, and whether to try again; bytes and sets
/// in data.
pub fn export<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    write::conversation(manager)
}
