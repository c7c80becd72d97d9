//! Reads `system` and `messages`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::importer::{Importer, Speaker};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, Role};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    role: Speaker,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// Imports the conversation of a Converse request: an object with `messages` and maybe `system`, or the list of messages
/// alone. Other keys of the object are skipped.
///
/// - Each text of `system`, and each message of role `system`, becomes a system message.
/// - Blocks are `text`, `image`, `video`, `audio`, `document`, `toolUse` and `toolResult`. Their `format` becomes a MIME
///   type. A `source` is bytes in base64 or an `s3Location`. A `cachePoint` belongs to the request and is skipped.
/// - A `toolResult` with the `status` `error` must hold one text. A call that repeats the id of an answered call gets a
///   new id, such as `call_1-2`.
///
/// Returns [`ExchangeError`] if the text is not of this form, if it holds something that cannot be kept, such as
/// `reasoningContent`, `citationsContent`, the owner of a bucket or the context of a document, or if the conversation
/// refuses a message: a result before its call, a second result, a blank message.
///
/// # The format
///
/// The messages of Amazon Bedrock's
/// [Converse](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html), as JSON on the wire.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage};
/// # use verbale::exchange::{ImportOptions, export_converse, import_converse};
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let json = r#"{"system":[{"text":"You are a bank."}],"messages":[{"role":"user","content":[{"text":"Hi"}]}]}"#;
/// let manager: MessagesManager<PlainMessage> = import_converse(json, &ImportOptions::default())?;
/// assert_eq!(export_converse(&manager).text, json);
/// # Ok(()) }
/// ```
pub fn import_converse<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    Importer::import_request(json.as_ref(), options, add_instructions, add_message)
}

fn add_instructions<W: MessageWrapper>(importer: &mut Importer<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let add = |node: Node<'_, '_>| match node.one_of("text cachePoint guardContent")? {
        ("text", text) => importer.add(&node, Role::System, vec![text.text()?.into()]),
        ("cachePoint", _) => Ok(()),
        _ => Err(node.error(Problem::not_kept("`guardContent`"))),
    };
    node.each(add).map(drop)
}

fn add_message<W: MessageWrapper>(importer: &mut Importer<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object()?;
    let blocks = node.under("content", message.content).each(|block| blocks::read(&block, importer))?;
    importer.add(node, message.role.into(), blocks.into_iter().flatten().collect())
}
