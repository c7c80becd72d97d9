//! The heard part of an offloaded text, stored in its reference.

use super::reference::{Reference, TEXT, TEXT_TYPE, TYPE, with};
use crate::message::{Content, Heard, HeardSource, Map, Text, Value};

const HEARD: &str = "heard";
const BYTES: &str = "bytes";
const BY: &str = "by";

/// Returns the reference that replaces a text. `heard` is the heard part of this text.
pub(super) fn text_content(reference: Reference, heard: Option<Heard>) -> Content {
    let map = with(None, reference.entries(TEXT_TYPE));
    let map = with(Some(&map), [(TYPE, TEXT.into())]);
    Content::Unknown(Box::new(match heard {
        Some(heard) => with(Some(&map), [(HEARD, entry(heard))]),
        None => map,
    }))
}

/// Returns the reference and the heard part, if the content is a reference to a text.
pub(super) fn text_reference(content: &Content) -> Option<(Reference, Option<Heard>)> {
    let Content::Unknown(map) = content else { return None };
    if map.get(TYPE)?.as_str() != Some(TEXT) {
        return None;
    }
    let reference = Reference::of_map(map, TEXT_TYPE, &[TYPE, HEARD])?;
    match map.get(HEARD) {
        None => Some((reference, None)),
        Some(heard) => Some((reference, Some(read(heard.as_map()?)?))),
    }
}

/// Splits the heard part of a message over its texts.
pub(super) fn shares<'a>(heard: Heard, texts: impl Iterator<Item = &'a Text>) -> impl Iterator<Item = Heard> {
    let mut left = heard.bytes();
    texts.map(move |text| {
        let share = left.min(text.len());
        left -= share;
        Heard::new(share, heard.source())
    })
}

fn entry(heard: Heard) -> Value {
    let bytes = Value::from(heard.bytes() as u64);
    with(None, [(BYTES, bytes), (BY, heard.source().to_string().into())]).into()
}

fn read(entry: &Map) -> Option<Heard> {
    let Value::Number(bytes) = entry.get(BYTES)? else { return None };
    let by = entry.get(BY)?.as_str()?;
    let known = [HeardSource::WordTiming, HeardSource::PlaybackTime, HeardSource::Estimate];
    let by = known.into_iter().find(|provenance| provenance.to_string() == by)?;
    Some(Heard::new(usize::try_from(bytes.as_u64()?).ok()?, by))
}
