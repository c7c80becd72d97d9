//! Checks images, videos and documents: number, size, place and name.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, DocumentBlock, DocumentSource, ImageBlock, ImageSource, Message,
    ToolResultContentBlock, VideoBlock, VideoSource,
};

use super::super::attachment::{MAX_DOCUMENT_NAME, is_document_name};
use super::{Place, Profile, ViolationKind, Violations, contents};

pub(super) fn check(messages: &[Message], profile: &Profile, violations: &mut Violations) {
    let images: Vec<_> = contents(messages).flat_map(|(m, c, block)| images_in(block, Place::Content(m, c))).collect();
    let documents: Vec<_> =
        contents(messages).flat_map(|(m, c, block)| documents_in(block, Place::Content(m, c))).collect();
    check_roles(messages, violations);
    check_texts(messages, violations);
    check_support(messages, profile, violations);
    check_images(&images, documents.len(), profile, violations);
    check_documents(&documents, profile, violations);
    check_names(&documents, violations);
}

/// An attachment and its place. `part` is its index in a tool result, if it is in one.
struct Placed<'a, T> {
    block: &'a T,
    place: Place,
    part: Option<usize>,
}

fn images_in(block: &ContentBlock, place: Place) -> impl Iterator<Item = Placed<'_, ImageBlock>> {
    attached(block).into_iter().filter_map(move |(part, attached)| match attached {
        Attached::Image(block) => Some(Placed { block, place, part }),
        _ => None,
    })
}

fn documents_in(block: &ContentBlock, place: Place) -> impl Iterator<Item = Placed<'_, DocumentBlock>> {
    attached(block).into_iter().filter_map(move |(part, attached)| match attached {
        Attached::Document(block) => Some(Placed { block, place, part }),
        _ => None,
    })
}

fn check_roles(messages: &[Message], violations: &mut Violations) {
    for (m, message) in messages.iter().enumerate().filter(|(_, message)| message.role != ConversationRole::User) {
        for (c, block) in message.content.iter().enumerate() {
            let kind = match block {
                ContentBlock::Image(_) => "image",
                ContentBlock::Video(_) => "video",
                ContentBlock::Document(_) => "document",
                _ => continue,
            };
            let wording = format!(
                "The model returned the following errors: messages.{m}.content: '{kind}' blocks are not permitted within \
                 {} turns.",
                message.role.as_str()
            );
            violations.add(ViolationKind::Attachments, Place::Content(m, c), wording);
        }
    }
}

fn check_texts(messages: &[Message], violations: &mut Violations) {
    for (m, message) in messages.iter().enumerate() {
        if let Some(c) = message.content.iter().position(ContentBlock::is_document)
            && !message.content.iter().any(ContentBlock::is_text)
        {
            let wording = "A text block must be included when using documents.";
            violations.add(ViolationKind::Attachments, Place::Content(m, c), wording);
        }
    }
}

/// Checks attachments that some models refuse from users too.
fn check_support(messages: &[Message], profile: &Profile, violations: &mut Violations) {
    let is_of_user = |m: usize| messages.get(m).is_some_and(|message| message.role == ConversationRole::User);
    for (m, c, block) in contents(messages).filter(|(m, ..)| is_of_user(*m)) {
        let place = Place::Content(m, c);
        for (part, attached) in attached(block) {
            if matches!(attached, Attached::Video(_)) && !profile.takes_videos {
                let wording = "This model doesn't support the video content block that you provided. Update the content \
                               block and try again.";
                violations.add(ViolationKind::Attachments, place, wording);
            } else if attached.is_in_s3() && !profile.takes_s3 {
                let nested = part.map(|part| format!(".toolResult.content.{part}")).unwrap_or_default();
                let kind = attached.kind();
                let wording = format!(
                    "The model returned the following errors: {place}{nested}.{kind}.source.type: Field required"
                );
                violations.add(ViolationKind::Attachments, place, wording);
            }
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

fn check_images(images: &[Placed<'_, ImageBlock>], documents: usize, profile: &Profile, violations: &mut Violations) {
    if let Some(first_too_many) = images.get(profile.max_images) {
        let wording = format!(
            "The model returned the following errors: too many images and documents: {} + {documents} > {}",
            images.len(),
            profile.max_images
        );
        violations.add(ViolationKind::Attachments, first_too_many.place, wording);
    }
    for Placed { block, place, part } in images {
        let bytes = image_bytes(block);
        if bytes > profile.max_image_bytes {
            // Bedrock counts the bytes in base64.
            let (found, limit) = (in_base64(bytes), in_base64(profile.max_image_bytes));
            let nested = part.map(|part| format!(".toolResult.content.{part}")).unwrap_or_default();
            let wording = format!(
                "The model returned the following errors: {place}{nested}.image.source.bytes: image exceeds {} MB maximum: \
                 {found} bytes > {limit} bytes",
                megabytes(limit)
            );
            violations.add(ViolationKind::Attachments, *place, wording);
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

fn check_documents(documents: &[Placed<'_, DocumentBlock>], profile: &Profile, violations: &mut Violations) {
    if let Some(first_too_many) = documents.get(profile.max_documents) {
        let wording = format!("You can't include more than {} documents in a request.", profile.max_documents);
        violations.add(ViolationKind::Attachments, first_too_many.place, wording);
    }
    for Placed { block, place, .. } in documents {
        if document_bytes(block) > profile.max_document_bytes {
            let wording = format!(
                "The maximum document size is {} MB. Reduce the size of your document and retry your request.",
                megabytes(profile.max_document_bytes)
            );
            violations.add(ViolationKind::Attachments, *place, wording);
        }
    }
}

fn check_names(documents: &[Placed<'_, DocumentBlock>], violations: &mut Violations) {
    let mut names = HashSet::new();
    for Placed { block, place, part } in documents {
        let name = block.name.as_str();
        let length = name.chars().count();
        if length == 0 || length > MAX_DOCUMENT_NAME {
            let bound = if length == 0 { "greater than or equal to 1" } else { "less than or equal to 200" };
            let nested = part.map(|part| format!("toolResult.content.{}.member.", part + 1)).unwrap_or_default();
            let member = format!("{nested}document.name");
            violations.add_constraint(ViolationKind::Attachments, *place, &member, &format!("have length {bound}"));
        } else if !is_document_name(name) {
            violations.add(
                ViolationKind::Attachments,
                *place,
                "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, \
                 parentheses, and square brackets. The name can't contain more than one consecutive whitespace \
                 character. Check that the file name conforms to these restrictions and retry your request.",
            );
        }
        if !names.insert(name) {
            violations.add(
                ViolationKind::Attachments,
                *place,
                "Messages can't contain duplicate document names. Rename the document and retry your request.",
            );
        }
    }
}
