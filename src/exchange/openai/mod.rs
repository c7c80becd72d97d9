//! OpenAI's [chat messages](https://platform.openai.com/docs/api-reference/chat/create), with tool calls.

mod parts;
mod read;
mod write;

use std::sync::Arc;

use super::error::ExchangeError;
use super::export::Export;
use super::intake::read_all;
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// The conversation of chat messages: a list of them, or an object that has the list under `messages` and whose other
/// keys are not read.
///
/// - `system` and `developer` are supervisor messages. A `user` message behind results of tools is one with them.
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
/// Errors: not of this form; what would be lost, as a `name` or an unknown key that says something; a result before its
/// call, or a second one; a message that says nothing; too deep, or too dense.
pub fn import<W: MessageWrapper>(json: impl AsRef<[u8]>) -> Result<MessagesManager<W>, ExchangeError> {
    import_with_clock(json, Arc::new(SystemClock), Arc::new(SystemIds))
}

/// As [`import`], with time and ids from elsewhere: the messages have none.
pub fn import_with_clock<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    read_all(json.as_ref(), |reader| read::conversation(reader, clock, ids))
}

/// The conversation as a list of chat messages.
///
/// Always left out are ids of messages, times, marks, custom data, steps, and fakes. Supervisor messages are `system`. A
/// message of several texts has them as parts. Each result is a `tool` message, an empty one `""`. What an assistant said
/// behind a call stands in a message of its own, so that nothing changes its place: where a result came late, the text
/// is for reading, as OpenAI takes results right behind their calls only.
///
/// [Losses](Export::losses) are summaries; what was not heard; media and documents that are not the user's own words, as
/// in results; video, and media or documents that are neither bytes nor
/// an image's URL, or sound that is neither `audio/wav` nor `audio/mpeg`; labels; that a result is data or a failure,
/// for it is a text here; bytes and sets in arguments.
pub fn export<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    write::conversation(manager)
}
