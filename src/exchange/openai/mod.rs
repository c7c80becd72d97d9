//! OpenAI's [chat messages](https://platform.openai.com/docs/api-reference/chat/create), with tool calls.

mod parts;
mod read;
mod write;

use super::error::ExchangeError;
use super::export::Export;
use super::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// Imports a list of chat messages, or an object that has the list under `messages`. Other keys of the object are
/// skipped.
///
/// - `system` and `developer` are supervisor messages. A `user` message after results of tools is merged with them.
/// - `content` is a text, or a list of parts: `text`, `refusal` (which becomes a text), `image_url` (a `data:` URL becomes
///   bytes with a MIME type; `detail` is kept), `input_audio`, and `file` with its data.
/// - `arguments` of a call are JSON in a string; an empty one is `{}`. A call whose id was used before, and answered,
///   gets another: `call_1-2`. A result is paired by `tool_call_id`, and has the name of its call.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage};
/// # use verbale::exchange::openai;
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let json = r#"[{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Until six."}]"#;
/// let manager: MessagesManager<PlainMessage> = openai::import(json)?;
/// let export = openai::export(&manager);
/// assert_eq!(export.text, json.replace(": ", ":").replace(", ", ","));
/// assert!(export.losses.is_empty());
/// # Ok(()) }
/// ```
///
/// Returns an error if the text is not of this form, if something would be lost, such as a `name` or the value of an
/// unknown key, or if the conversation refuses a message: a result before its call, a second result, a message that says
/// nothing.
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

/// Exports the whole conversation as a list of chat messages that OpenAI takes.
///
/// - System messages are `system`. A message of several texts has them as parts.
/// - Only complete pairs are written: a call whose result exists, with the result directly after its message as a
///   `tool` message. An empty result is `""`.
/// - The [role hint](crate::message::Decision::role_hint) of a message without calls and results is its role, unless it
///   is `tool`.
/// - Always left out are ids of messages, times, marks, custom data, steps, and fakes.
///
/// [Losses](Export::losses) are summaries; what was not heard; calls without a result; the order, where an assistant
/// spoke after a call or a result came late; media and documents that are not the user's own words, as in results; video,
/// and media or documents that are neither bytes nor an image's URL, or sound that is neither `audio/wav` nor
/// `audio/mpeg`; labels; that a result is data or a failure, because it is a text here; bytes in arguments.
pub fn export<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    write::conversation(manager)
}

/// Writes the [window](MessagesManager::messages), which is what the model gets now, as the `messages` of a request.
///
/// All system instructions come first, then the messages of the window. Each call is followed by its result, and no text
/// is blank. Media and documents that OpenAI does not take there become a text:
/// `[image: not available to the model]`. The role hint is heeded as in [`export`].
///
/// [Losses](Export::losses) are as in [`export`]. The summary is among them: tell the model of
/// [`last_summary`](MessagesManager::last_summary) in an instruction of your own, as data.
pub fn window<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    write::window(manager)
}
