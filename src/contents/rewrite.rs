//! [`Rewrite`]: a walk over the contents of a record that are no texts.

use crate::message::{Content, Document, Invocation, InvocationResult, Map, Media, Source};

/// Puts something else in the place of what a content holds: references for bytes, or bytes for references.
pub(super) trait Rewrite {
    fn source(&mut self, source: &mut Source, beside: &mut Option<Map>);

    fn invocation(&mut self, invocation: &Invocation) -> Invocation;

    fn result(&mut self, result: &InvocationResult) -> InvocationResult;

    fn other(&mut self, content: &Content) -> Content {
        match content {
            Content::Media(media) => self.media(media).into(),
            Content::Document(document) => self.document(document).into(),
            Content::Invocation(invocation) => self.invocation(invocation).into(),
            Content::InvocationResult(result) => self.result(result).into(),
            Content::Text(_) | Content::Unknown(_) => content.clone(),
        }
    }

    fn media(&mut self, media: &Media) -> Media {
        let mut media = media.clone();
        self.source(&mut media.source, &mut media.unknown);
        media
    }

    fn document(&mut self, document: &Document) -> Document {
        let mut document = document.clone();
        self.source(&mut document.source, &mut document.unknown);
        document
    }
}
