//! Checks images, videos and documents: number, size, place and name.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, DocumentBlock, DocumentSource, ImageBlock, ImageSource, Message,
    ToolResultContentBlock, VideoBlock, VideoSource,
};

use super::super::attachment::is_document_name;
use super::{Place, Profile, Violations};
use crate::bedrock::image_size::image_size;
use crate::bedrock::profile::service::MAX_DOCUMENT_NAME;

pub(super) fn check(messages: &[Message], profile: &Profile, violations: &mut Violations) {
    let mut all = Vec::new();
    for (m, message) in messages.iter().enumerate() {
        for (c, block) in message.content.iter().enumerate() {
            let place = Place::Content(m, c);
            all.extend(attached(block).into_iter().map(|(part, attached)| Placed { attached, message, place, part }));
        }
    }
    check_roles(&all, violations);
    check_texts(messages, violations);
    check_support(&all, profile, violations);
    check_images(&all, profile, violations);
    let documents: Vec<_> = all
        .iter()
        .filter_map(|placed| match placed.attached {
            Attached::Document(document) => Some((document, placed)),
            _ => None,
        })
        .collect();
    check_documents(&documents, profile, violations);
    check_names(&documents, violations);
}

/// An attachment and its place. `part` is its index in a tool result, if it is in one.
struct Placed<'a> {
    attached: Attached<'a>,
    message: &'a Message,
    place: Place,
    part: Option<usize>,
}

impl Placed<'_> {
    fn path(&self) -> String {
        let part = self.part.map(|part| format!(".toolResult.content.{part}")).unwrap_or_default();
        format!("{}{part}.{}", self.place, self.attached.kind())
    }
}

fn check_roles(all: &[Placed<'_>], violations: &mut Violations) {
    for Placed { attached, message, place, part } in all {
        if let Place::Content(m, _) = place
            && message.role != ConversationRole::User
            && part.is_none()
        {
            let wording = format!(
                "The model returned the following errors: messages.{m}.content: '{}' blocks are not permitted within {} turns.",
                attached.kind(),
                message.role.as_str()
            );
            violations.add("attachment-role", *place, wording);
        }
    }
}

fn check_texts(messages: &[Message], violations: &mut Violations) {
    for (m, message) in messages.iter().enumerate() {
        if let Some(c) = message.content.iter().position(ContentBlock::is_document)
            && !message.content.iter().any(ContentBlock::is_text)
        {
            let wording = "A text block must be included when using documents.";
            violations.add("document-alone", Place::Content(m, c), wording);
        }
    }
}

/// Checks attachments that some models refuse from users too.
fn check_support(all: &[Placed<'_>], profile: &Profile, violations: &mut Violations) {
    for placed in all.iter().filter(|placed| placed.message.role == ConversationRole::User) {
        let unsupported = match placed.attached {
            Attached::Image(_) if !profile.supports_images && placed.part.is_none() => Some("image"),
            Attached::Video(_) if !profile.supports_videos => Some("video"),
            _ => None,
        };
        if let Some(kind) = unsupported {
            let wording = format!(
                "This model doesn't support the {kind} content block that you provided. Update the content block and try \
                 again."
            );
            violations.add(kind, placed.place, wording);
        } else if placed.attached.is_in_s3() && !profile.supports_s3 {
            let path = placed.path();
            let wording = format!("The model returned the following errors: {path}.source.type: Field required");
            violations.add("attachment-in-s3", placed.place, wording);
        }
    }
}

/// An attachment.
#[derive(Clone, Copy)]
pub(in crate::bedrock) enum Attached<'a> {
    Image(&'a ImageBlock),
    Video(&'a VideoBlock),
    Document(&'a DocumentBlock),
}

impl Attached<'_> {
    pub(in crate::bedrock) fn kind(self) -> &'static str {
        match self {
            Self::Image(_) => "image",
            Self::Video(_) => "video",
            Self::Document(_) => "document",
        }
    }

    pub(in crate::bedrock) fn is_in_s3(self) -> bool {
        match self {
            Self::Image(image) => matches!(image.source, Some(ImageSource::S3Location(_))),
            Self::Video(video) => matches!(video.source, Some(VideoSource::S3Location(_))),
            Self::Document(document) => matches!(document.source, Some(DocumentSource::S3Location(_))),
        }
    }
}

/// Returns the attachment of a block, or the attachments of a tool result with their indices.
pub(in crate::bedrock) fn attached(block: &ContentBlock) -> Vec<(Option<usize>, Attached<'_>)> {
    match block {
        ContentBlock::Image(image) => vec![(None, Attached::Image(image))],
        ContentBlock::Video(video) => vec![(None, Attached::Video(video))],
        ContentBlock::Document(document) => vec![(None, Attached::Document(document))],
        ContentBlock::ToolResult(result) => {
            let parts = result.content.iter().enumerate();
            parts.filter_map(|(part, content)| Some((Some(part), attached_part(content)?))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the attachment of a part of a tool result.
pub(in crate::bedrock) fn attached_part(part: &ToolResultContentBlock) -> Option<Attached<'_>> {
    match part {
        ToolResultContentBlock::Image(image) => Some(Attached::Image(image)),
        ToolResultContentBlock::Video(video) => Some(Attached::Video(video)),
        ToolResultContentBlock::Document(document) => Some(Attached::Document(document)),
        _ => None,
    }
}

fn check_images(all: &[Placed<'_>], profile: &Profile, violations: &mut Violations) {
    let images = || all.iter().filter(|placed| matches!(placed.attached, Attached::Image(_)));
    let countable = || all.iter().filter(|placed| !matches!(placed.attached, Attached::Video(_)));
    let too_many_images = images().nth(profile.max_images).map(|first| (first, profile.max_images));
    let too_many = too_many_images.or(countable().nth(profile.max_attachments).map(|it| (it, profile.max_attachments)));
    if let Some((first_too_many, limit)) = too_many {
        let images = images().count();
        let wording = format!(
            "The model returned the following errors: too many images and documents: {images} + {} > {limit}",
            countable().count() - images
        );
        violations.add("attachments-number", first_too_many.place, wording);
    }
    for placed in all {
        let Attached::Image(image) = placed.attached else { continue };
        if longest_side(image) > profile.max_image_side {
            let wording = format!(
                "The model returned the following errors: {}.source.base64.data: At least one of the image dimensions \
                 exceed max allowed size: {} pixels",
                placed.path(),
                profile.max_image_side
            );
            violations.add("image-pixels", placed.place, wording);
        }
        if image_bytes(image) > profile.max_image_bytes {
            // Bedrock counts the bytes in base64.
            let (found, limit) = (in_base64(image_bytes(image)), in_base64(profile.max_image_bytes));
            let wording = format!(
                "The model returned the following errors: {}.source.bytes: image exceeds {} MB maximum: {found} bytes > \
                 {limit} bytes",
                placed.path(),
                megabytes(limit)
            );
            violations.add("image-bytes", placed.place, wording);
        }
    }
}

/// Returns the size of the image in the request, in bytes. An image in S3 has none.
pub(in crate::bedrock) fn image_bytes(image: &ImageBlock) -> usize {
    match &image.source {
        Some(ImageSource::Bytes(bytes)) => bytes.as_ref().len(),
        _ => 0,
    }
}

/// Returns the height or the width of the image in pixels, whichever is greater, or 0 if they are unknown.
pub(in crate::bedrock) fn longest_side(image: &ImageBlock) -> u32 {
    match &image.source {
        Some(ImageSource::Bytes(bytes)) => image_size(bytes.as_ref()).map_or(0, |(width, height)| width.max(height)),
        _ => 0,
    }
}

/// Returns the size of the document in the request, in bytes. A document in S3 has none.
pub(in crate::bedrock) fn document_bytes(document: &DocumentBlock) -> usize {
    match &document.source {
        Some(DocumentSource::Bytes(bytes)) => bytes.as_ref().len(),
        Some(DocumentSource::Text(text)) => text.len(),
        _ => 0,
    }
}

fn in_base64(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1_048_576.0
}

fn check_documents(documents: &[(&DocumentBlock, &Placed<'_>)], profile: &Profile, violations: &mut Violations) {
    if let Some((_, first_too_many)) = documents.get(profile.max_documents) {
        let wording = format!("You can't include more than {} documents in a request.", profile.max_documents);
        violations.add("document-number", first_too_many.place, wording);
    }
    for (document, Placed { place, .. }) in documents {
        if document_bytes(document) > profile.max_document_bytes {
            let wording = format!(
                "The maximum document size is {} MB. Reduce the size of your document and retry your request.",
                megabytes(profile.max_document_bytes)
            );
            violations.add("document-bytes", *place, wording);
        }
    }
}

fn check_names(documents: &[(&DocumentBlock, &Placed<'_>)], violations: &mut Violations) {
    let mut names = HashSet::new();
    for (document, Placed { place, part, .. }) in documents {
        let name = document.name.as_str();
        let length = name.chars().count();
        if length == 0 || length > MAX_DOCUMENT_NAME {
            let bound = if length == 0 { "greater than or equal to 1" } else { "less than or equal to 200" };
            let nested = part.map(|part| format!("toolResult.content.{}.member.", part + 1)).unwrap_or_default();
            let member = format!("{nested}document.name");
            violations.add_constraint("document-name", *place, &member, &format!("have length {bound}"));
        } else if !is_document_name(name) {
            violations.add(
                "document-name",
                *place,
                "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, \
                 parentheses, and square brackets. The name can't contain more than one consecutive whitespace \
                 character. Check that the file name conforms to these restrictions and retry your request.",
            );
        }
        if !names.insert(name) {
            violations.add(
                "document-names-unique",
                *place,
                "Messages can't contain duplicate document names. Rename the document and retry your request.",
            );
        }
    }
}
