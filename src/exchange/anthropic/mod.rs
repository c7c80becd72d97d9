//! Anthropic's [Messages](https://docs.anthropic.com/en/api/messages): `system` and `messages` with blocks.

mod read;
mod write;

use super::error::ExchangeError;
use super::export::Export;
use super::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// Imports the conversation of a request: an object with `messages` and maybe `system`, whose other keys are skipped; or
/// the list of messages alone.
///
/// - `system` is a string or a list of texts; each is a supervisor message.
/// - A `content` is a string or a list of blocks: `text`, `image`, `document`, `tool_use` and `tool_result`. A `source` is
///   `base64`, `url`, or, for a document, `text`. A `cache_control` is the request's, and is skipped.
/// - A `tool_result` with `is_error` holds texts, which become the message of the error. A call whose id was used before,
///   and answered, gets another: `call_1-2`.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage};
/// # use verbale::exchange::anthropic;
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let json = r#"{"system":"You are a bank.","messages":[{"role":"user","content":"Hi"}]}"#;
/// let manager: MessagesManager<PlainMessage> = anthropic::import(json)?;
/// let window = anthropic::window(&manager);
/// assert_eq!(
///     window.text,
///     r#"{"system":[{"type":"text","text":"You are a bank."}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#
/// );
/// # Ok(()) }
/// ```
///
/// Returns an error if the text is not of this form, if something would be lost, such as `thinking`, citations or a file
/// that only Anthropic has, or if the conversation refuses a message: a result before its call, a second result, a message
/// that says nothing.
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

/// Writes the [window](MessagesManager::messages), which is what the model gets now, as `system` and `messages` of a
/// request.
///
/// - `system` holds all system instructions, in order.
/// - Roles alternate and a user message is first. Results open the user message after their calls, and nothing
///   follows calls in a message. No text is blank. Arguments that are no object become `{"arguments": …}`, as for Bedrock.
/// - Media and documents that Anthropic does not take become a text: `[audio: not available to the model]`.
/// - The [role hint](crate::message::Decision::role_hint) of a message without calls and results is its role where it is
///   `user` or `assistant`.
///
/// [Losses](Export::losses) are the summary; media and documents that are not given; labels; that a result is data; the
/// type of a failure; bytes in data. Tell the model of the [summary](MessagesManager::last_summary) in an
/// instruction of your own, as data.
pub fn window<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    write::window(manager)
}
