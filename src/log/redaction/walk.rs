//! Redaction of the parts of a record other than its texts: other contents, values, metadata.

use std::collections::BTreeMap;

use super::bytes::Decoded;
use super::redact::{NOT_A_RECORD, Redacting};
use crate::contents::ContentId;
use crate::log::LogError;
use crate::message::{
    Content, List, Map, Media, MessageError, Metadata, ResultContent, Source, Text, ToolCall, ToolError, ToolResult,
    Value,
};

impl Redacting<'_> {
    pub fn content(&self, content: &Content) -> Result<Option<Content>, LogError> {
        Ok(match content {
            Content::Text(text) => self.text(text)?.map(Content::Text),
            Content::Media(media) => self.media(media)?.map(Content::from),
            Content::ToolCall(tool_call) => self.tool_call(tool_call)?.map(Content::from),
            Content::ToolResult(result) => self.result(result)?.map(Content::from),
            Content::Unknown(map) => self.map(map)?.map(|map| Content::Unknown(Box::new(map))),
        })
    }

    fn media(&self, media: &Media) -> Result<Option<Media>, LogError> {
        let mut redacted = Lazy::new(media);
        redacted.set(self.source(&media.source, media.mime_type.as_deref())?, |media, source| media.source = source);
        redacted.set(self.optional(&media.mime_type)?, |media, mime_type| media.mime_type = Some(mime_type));
        redacted.set(self.optional(&media.label)?, |media, label| media.label = Some(label));
        redacted.set(self.unknown(&media.unknown)?, |media, unknown| media.unknown = Some(unknown));
        Ok(redacted.changed)
    }

    fn source(&self, source: &Source, mime_type: Option<&str>) -> Result<Option<Source>, LogError> {
        Ok(match source {
            Source::Url(url) => self.text(url)?.map(Source::Url),
            Source::Bytes(bytes) => self.bytes(bytes, mime_type)?.map(|bytes| Source::Bytes(bytes.into())),
            Source::ContentId(_) => None,
        })
    }

    fn bytes(&self, bytes: &[u8], mime_type: Option<&str>) -> Result<Option<Vec<u8>>, LogError> {
        let Some(decoded) = Decoded::new(bytes, mime_type) else { return Ok(None) };
        let found = self.find(&decoded.text)?;
        Ok((!found.is_empty()).then(|| decoded.rewrite(&found.visible_in(&decoded.text))))
    }

    pub fn tool_call(&self, tool_call: &ToolCall) -> Result<Option<ToolCall>, LogError> {
        let mut redacted = Lazy::new(tool_call);
        redacted.set(self.value(tool_call.arguments())?, |tool_call, arguments| {
            *tool_call = tool_call.clone().with_arguments(arguments);
        });
        redacted.set(self.unknown(&tool_call.unknown)?, |tool_call, unknown| tool_call.unknown = Some(unknown));
        Ok(redacted.changed)
    }

    fn result(&self, result: &ToolResult) -> Result<Option<ToolResult>, LogError> {
        let outcome = match result.outcome() {
            Ok(parts) => self.each(parts, |part| self.part(part))?.map(Ok),
            Err(error) => self.error(error)?.map(Err),
        };
        let mut redacted = Lazy::new(result);
        redacted.set(outcome, |result, outcome| *result = result.clone().with_outcome(outcome));
        redacted.set(self.unknown(&result.unknown)?, |result, unknown| result.unknown = Some(unknown));
        Ok(redacted.changed)
    }

    fn part(&self, part: &ResultContent) -> Result<Option<ResultContent>, LogError> {
        Ok(match part {
            ResultContent::Text(text) => self.text(text)?.map(ResultContent::Text),
            ResultContent::Json(value) => self.value(value)?.map(ResultContent::Json),
            ResultContent::Media(media) => self.media(media)?.map(|media| ResultContent::Media(Box::new(media))),
            ResultContent::Unknown(map) => self.map(map)?.map(|map| ResultContent::Unknown(Box::new(map))),
        })
    }

    fn error(&self, error: &ToolError) -> Result<Option<ToolError>, LogError> {
        let mut redacted = Lazy::new(error);
        if let Some(message) = self.text(error.message())? {
            redacted.set(Some(error.with_message(message)), |error, redacted| *error = redacted);
        }
        if let Some(kind) = error.error_type() {
            redacted.set(self.text(kind)?, |error, kind| *error = error.clone().with_type(kind));
        }
        redacted.set(self.unknown(&error.unknown)?, |error, unknown| error.unknown = Some(unknown));
        Ok(redacted.changed)
    }

    fn value(&self, value: &Value) -> Result<Option<Value>, LogError> {
        Ok(match value {
            // A changed reference to a content would not resolve.
            Value::String(text) if text.parse::<ContentId>().is_ok() => None,
            Value::String(text) => self.text(text)?.map(Value::String),
            Value::Number(number) => self.text(&number.to_string())?.map(Value::String),
            Value::List(list) => {
                let items = self.each(list.iter(), |item| self.value(item))?;
                items.map(|items| self.valid(List::new(items))).transpose()?.map(Value::List)
            }
            Value::Map(map) => self.map(map)?.map(Value::Map),
            Value::Null | Value::Bool(_) | Value::Bytes(_) => None,
        })
    }

    pub fn map(&self, map: &Map) -> Result<Option<Map>, LogError> {
        self.entries(map)?.map(|entries| self.valid(Map::new(entries))).transpose()
    }

    fn unknown(&self, map: &Option<Map>) -> Result<Option<Map>, LogError> {
        map.as_ref().map_or(Ok(None), |map| self.map(map))
    }

    fn optional(&self, text: &Option<Text>) -> Result<Option<Text>, LogError> {
        text.as_ref().map_or(Ok(None), |text| self.text(text))
    }

    fn entries<'a>(
        &self,
        entries: impl IntoIterator<Item = (&'a String, &'a Value)> + Clone,
    ) -> Result<Option<BTreeMap<String, Value>>, LogError> {
        let redacted = entries.clone().into_iter().map(|(key, value)| Ok((self.text(key)?, self.value(value)?)));
        let redacted = redacted.collect::<Result<Vec<_>, LogError>>()?;
        if redacted.iter().all(|(key, value)| key.is_none() && value.is_none()) {
            return Ok(None);
        }
        let mut left = BTreeMap::new();
        let mut changed = Vec::new();
        for ((key, value), (new_key, new_value)) in entries.into_iter().zip(redacted) {
            let value = new_value.unwrap_or_else(|| value.clone());
            match new_key {
                Some(new_key) => changed.push((new_key, value)),
                None => drop(left.insert(key.clone(), value)),
            }
        }
        // Equal keys are numbered, so that no value is lost.
        let mut times: BTreeMap<Text, usize> = BTreeMap::new();
        for (key, value) in changed {
            let time = times.entry(key.clone()).or_default();
            let name = loop {
                *time += 1;
                let name = if *time == 1 { key.as_str().to_owned() } else { format!("{} ({time})", key.as_str()) };
                if !left.contains_key(&name) {
                    break name;
                }
            };
            left.insert(name, value);
        }
        Ok(Some(left))
    }

    pub fn metadata(&self, metadata: &Metadata) -> Result<Option<Metadata>, LogError> {
        let mut redacted = Lazy::new(metadata);
        redacted.set(self.entries(metadata.aux())?, |metadata, aux| *metadata.aux_mut() = Map::data(aux));
        if let Some(unknown) = metadata.unknown() {
            let levels = self.each(unknown.levels(), |entries| self.entries(entries))?;
            redacted.set(levels, |metadata, levels| {
                let places = metadata.unknown_mut().levels_mut();
                places.zip(levels).for_each(|(place, entries)| *place = entries);
            });
            let attributes = self.each(&unknown.attributes, |name| self.text(name))?;
            redacted.set(attributes, |metadata, names| metadata.unknown_mut().attributes = names);
        }
        Ok(redacted.changed)
    }

    /// Returns all items with those that `redact` changed; `None` if it changed none.
    pub fn each<'a, T: Clone + 'a>(
        &self,
        items: impl IntoIterator<Item = &'a T, IntoIter: Clone>,
        redact: impl FnMut(&'a T) -> Result<Option<T>, LogError>,
    ) -> Result<Option<Vec<T>>, LogError> {
        let items = items.into_iter();
        let redacted = items.clone().map(redact).collect::<Result<Vec<_>, _>>()?;
        if redacted.iter().all(Option::is_none) {
            return Ok(None);
        }
        Ok(Some(items.zip(redacted).map(|(item, redacted)| redacted.unwrap_or_else(|| item.clone())).collect()))
    }

    fn valid<T>(&self, value: Result<T, MessageError>) -> Result<T, LogError> {
        value.map_err(|_| self.refused(NOT_A_RECORD))
    }
}

/// A value that is cloned on its first change.
struct Lazy<'a, T> {
    original: &'a T,
    changed: Option<T>,
}

impl<'a, T: Clone> Lazy<'a, T> {
    fn new(original: &'a T) -> Self {
        Self { original, changed: None }
    }

    fn set<V>(&mut self, value: Option<V>, set: impl FnOnce(&mut T, V)) {
        if let Some(value) = value {
            set(self.changed.get_or_insert_with(|| self.original.clone()), value);
        }
    }
}
