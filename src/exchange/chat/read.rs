//! Reading chat messages.

use std::borrow::Cow;
use std::sync::Arc;

use super::ids::KnownIds;
use super::{DEFAULT_CONVERSATION, MESSAGE_ID};
use crate::clock::{IdSource, ManualClock};
use crate::exchange::lexer::Kind;
use crate::exchange::reader::{Others, Reader};
use crate::exchange::{ExchangeError, Problem, block, budget, moment, value};
use crate::manager::MessagesManager;
use crate::message::{Content, Entries, MessageId, MessageWrapper, Role, Value};

const ROLES: [(&str, Role); 2] = [("user", Role::User), ("assistant", Role::Assistant)];

type Conversations<W> = Vec<(String, MessagesManager<W>)>;

/// The whole text: a list of messages, or an object that has it under `messages`.
pub(super) fn conversations<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    ids: Arc<dyn IdSource>,
) -> Result<Conversations<W>, ExchangeError> {
    match reader.kind()? {
        Kind::List => list(reader, &ids),
        Kind::Object => {
            let mut conversations = None;
            reader.object(&["messages"], Others::Ignore, |reader, _| {
                conversations = Some(list(reader, &ids)?);
                Ok(())
            })?;
            conversations.ok_or_else(|| reader.missing("messages"))
        }
        _ => Err(reader.wrong_kind("a list of messages, or an object with `messages`,")),
    }
}

/// What orders the messages, and where they stand.
struct Listed<'a> {
    conversation: Cow<'a, str>,
    at_ms: i64,
    /// Empty where there is none.
    id: Cow<'a, str>,
    index: usize,
    offset: usize,
}

fn list<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    ids: &Arc<dyn IdSource>,
) -> Result<Conversations<W>, ExchangeError> {
    let count = reader.count()?;
    reader.take(count.saturating_mul(size_of::<Listed<'_>>()))?;
    let mut listed = Vec::with_capacity(count);
    reader.ahead(|reader| {
        reader.list(|reader| {
            listed.push(look_at(reader, listed.len())?);
            reader.skip()
        })
    })?;
    refuse_repeated_ids(reader, &mut listed)?;
    listed.sort_unstable_by(|a, b| {
        (&a.conversation, a.at_ms, &a.id, a.index).cmp(&(&b.conversation, b.at_ms, &b.id, b.index))
    });

    let of_conversations = || listed.chunk_by(|a, b| a.conversation == b.conversation);
    let count = of_conversations().count();
    reader.take(count.saturating_mul(size_of::<(String, MessagesManager<W>)>() + CONVERSATION_BYTES))?;
    let mut conversations = Vec::with_capacity(count);
    for messages in of_conversations() {
        let id = messages.first().map_or("", |message| &message.conversation);
        reader.take(id.len())?;
        conversations.push((id.to_owned(), conversation(reader, messages, ids)?));
    }
    reader.skip()?;
    Ok(conversations)
}

/// Its clock and its ids.
const CONVERSATION_BYTES: usize = 256;

fn look_at<'a>(reader: &mut Reader<'a>, index: usize) -> Result<Listed<'a>, ExchangeError> {
    let offset = reader.offset();
    let (mut conversation, mut id) = (None, None);
    reader.ahead(|reader| {
        reader.object(&["conversation_id", "message_id"], Others::Ignore, |reader, key| {
            if reader.null()? {
                return Ok(());
            }
            let named = if key == "message_id" { &mut id } else { &mut conversation };
            *named = Some(reader.string()?);
            Ok(())
        })
    })?;
    Ok(Listed {
        conversation: conversation.unwrap_or(Cow::Borrowed(DEFAULT_CONVERSATION)),
        at_ms: moment::timestamp(reader)?,
        id: id.unwrap_or_default(),
        index,
        offset,
    })
}

/// Errors: an id stands twice in one conversation.
fn refuse_repeated_ids(reader: &mut Reader<'_>, listed: &mut [Listed<'_>]) -> Result<(), ExchangeError> {
    listed.sort_unstable_by(|a, b| (&a.conversation, &a.id, a.index).cmp(&(&b.conversation, &b.id, b.index)));
    let pairs = listed.iter().zip(listed.iter().skip(1));
    let mut repeated = pairs.filter(|(a, b)| a.conversation == b.conversation && a.id == b.id && !a.id.is_empty());
    let Some((_, again)) = repeated.next() else { return Ok(()) };
    reader.item(again.index, again.offset, |reader| {
        reader.object(&["message_id"], Others::Ignore, |reader, _| {
            Err(reader.error(Problem::Invalid { reason: "another message of the conversation has this id" }))
        })
    })
}

fn conversation<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    messages: &[Listed<'_>],
    ids: &Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    // One more for the fake that opens.
    let count = messages.len() + 1;
    reader.take(count.saturating_mul(size_of::<W>()))?;
    let (clock, ids) = (ManualClock::new(0), Arc::new(KnownIds::new(ids.clone())));
    let mut manager = MessagesManager::with_clock(Arc::new(clock.clone()), ids.clone());
    manager.reserve(count, 0);
    for message in messages {
        clock.set(message.at_ms);
        reader.item(message.index, message.offset, |reader| read(reader, &mut manager, &message.id, &ids))?;
    }
    Ok(manager)
}

/// Adds the message here.
fn read<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    manager: &mut MessagesManager<W>,
    id: &str,
    ids: &KnownIds,
) -> Result<(), ExchangeError> {
    const KEYS: &[&str] = &["message_id", "conversation_id", "role", "content", "timestamp", "metadata"];
    let role = block::one_of(reader, &["role"], &ROLES, "user, assistant")?;
    let (mut contents, mut metadata) = (None, Vec::new());
    reader.object(KEYS, Others::Refuse, |reader, key| {
        match key {
            "content" => contents = Some(content(reader)?),
            "metadata" if !reader.null()? => metadata = entries(reader)?,
            "metadata" => {}
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let contents = contents.ok_or_else(|| reader.missing("content"))?;
    let own: Option<MessageId> = id.parse().ok().filter(|own: &MessageId| own.to_string() == id);
    let foreign = Some(id).filter(|id| own.is_none() && !id.is_empty());
    ids.set(own, role == Role::Assistant && manager.meta_messages().is_empty());
    let mut entry = manager.add_apart(role, contents).map_err(|error| reader.error(error))?;
    if let Some(id) = foreign {
        reader.take(budget::map_bytes(1) + budget::text_bytes(id.len()) + MESSAGE_ID.len())?;
        metadata.reserve_exact(1);
        metadata.push((MESSAGE_ID.to_owned(), id.into()));
    }
    if !metadata.is_empty() {
        reader.take(METADATA_BYTES)?;
        entry.set_all_data(Entries::of(metadata).ok_or_else(|| reader.error(Problem::RepeatedKey))?);
    }
    Ok(())
}

/// What a message takes that has custom data, without these.
const METADATA_BYTES: usize = 128;

fn content(reader: &mut Reader<'_>) -> Result<Vec<Content>, ExchangeError> {
    match reader.kind()? {
        Kind::String => Ok(vec![reader.text()?.into()]),
        Kind::List => {
            let count = reader.count()?;
            reader.take(budget::contents_bytes(count))?;
            let mut contents = Vec::with_capacity(count);
            reader.list(|reader| {
                contents.push(block::read(reader)?);
                Ok(())
            })?;
            Ok(contents)
        }
        _ => Err(reader.wrong_kind("a text, or a list of blocks,")),
    }
}

fn entries(reader: &mut Reader<'_>) -> Result<Vec<(String, Value)>, ExchangeError> {
    let count = if reader.kind()? == Kind::Object { reader.count()? } else { 0 };
    reader.take(budget::map_bytes(count))?;
    let mut entries = Vec::with_capacity(count);
    reader.entries(|reader, key| {
        if key.is(MESSAGE_ID) {
            return Err(reader.error(Problem::NotKept { what: "a `chatMessageId` in metadata" }));
        }
        reader.take(key.len())?;
        entries.push((key.unescaped().into_owned(), value::read(reader)?));
        Ok(())
    })?;
    Ok(entries)
}
