//! [`Attached`]: what is read of media or a document.

use crate::exchange::bytes;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::reader::Reader;
use crate::message::{Document, Media, MediaKind, Source, Text};

/// What is read of media or a document.
#[derive(Default)]
pub(in crate::exchange) struct Attached {
    pub source: Option<Source>,
    pub mime_type: Option<Text>,
    /// The `prompt_hint` or the `title`.
    label: Option<Text>,
}

impl Attached {
    /// Reads the value under a key of media or documents; others are skipped.
    pub fn read(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<(), ExchangeError> {
        match key {
            "mime_type" => self.mime_type = optional_text(reader)?,
            "prompt_hint" | "title" => self.label = optional_text(reader)?,
            "url" | "data" | "content_id" if reader.null()? => {}
            "url" => {
                let url = reader.text()?;
                self.put(Source::Url(url), reader)?;
            }
            "content_id" => {
                let id = reader.text()?;
                self.put(Source::ContentId(id), reader)?;
            }
            "data" => {
                let base64 = reader.string()?;
                self.put(Source::Bytes(bytes::decoded(reader, &base64)?), reader)?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    }

    /// Takes where the data is, which was just read.
    pub fn put(&mut self, source: Source, reader: &Reader<'_>) -> Result<(), ExchangeError> {
        if self.source.replace(source).is_some() { Err(one_source(reader)) } else { Ok(()) }
    }

    /// As media, which the reader has just read.
    pub fn into_media(self, kind: MediaKind, reader: &Reader<'_>) -> Result<Media, ExchangeError> {
        reader.take(size_of::<Media>())?;
        let mut media = Media::new(kind, self.source.ok_or_else(|| one_source(reader))?);
        (media.mime_type, media.prompt_hint) = (self.mime_type, self.label);
        Ok(media)
    }

    /// As a document, which the reader has just read.
    pub fn into_document(self, reader: &Reader<'_>) -> Result<Document, ExchangeError> {
        reader.take(size_of::<Document>())?;
        let mut document = Document::new(self.source.ok_or_else(|| one_source(reader))?);
        (document.mime_type, document.title) = (self.mime_type, self.label);
        Ok(document)
    }
}

fn one_source(reader: &Reader<'_>) -> ExchangeError {
    reader.error(Problem::Invalid { reason: "the data belongs here, under one of `url`, `data` and `content_id`" })
}

/// The string here, to be kept; `null` is none.
pub(in crate::exchange) fn optional_text(reader: &mut Reader<'_>) -> Result<Option<Text>, ExchangeError> {
    if reader.null()? { Ok(None) } else { reader.text().map(Some) }
}
