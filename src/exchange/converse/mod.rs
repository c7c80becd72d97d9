//! The messages of Amazon Bedrock's
//! [Converse](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html), as JSON on the wire.

mod blocks;
pub(crate) mod formats;
mod read;
pub(crate) mod wire;
mod write;

use super::error::ExchangeError;
use super::export::Export;
use super::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// Imports the conversation of a Converse request: an object with `messages` and maybe `system`, whose other keys are
/// skipped; or the list of messages alone.
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
/// Returns an error if the text is not of this form, if something would be lost, such as `reasoningContent`,
/// `citationsContent`, the owner of a bucket or the context of a document, or if the conversation refuses a message: a
/// result before its call, a second result, a message that says nothing.
pub fn import<W: MessageWrapper>(json: impl AsRef<[u8]>) -> Result<MessagesManager<W>, ExchangeError> {
    import_with(json, &ImportOptions::default())
}

/// Imports as [`import`] does, with options.
pub fn import_with<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    options.read(json.as_ref(), |node| read::conversation(&node, options))
}

/// Exports the conversation as `system` and `messages` of Converse.
///
/// The texts of the supervisor messages in front are `system`; later ones are messages of role `system`. Messages of one
/// role that follow each other are one. A document without a title is called `document`. Always left out are ids of
/// messages, times, marks, custom data, steps, and fakes. Nothing is repaired: the
/// [window](MessagesManager::to_raw) of a `BedrockMessage` is what Bedrock takes.
///
/// [Losses](Export::losses) are summaries; what was not heard; media and documents that are not the user's, or that are
/// neither bytes nor at an `s3://` URL, or whose MIME type Converse has no format for; labels; the type of a failure, and
/// whether to try again; bytes in data.
pub fn export<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    write::conversation(manager)
}
