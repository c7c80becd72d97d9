//! Bedrock's limits for the number and the size of attachments.

use serde_json::json;
use verbale::bedrock::{converse_input, validate};
use verbale::model::ModelRequest;
use verbale::{Content, MessageWrapper, MessagesManager, PlainMessage};

use super::files::{PDF, PNG, pdf_of, png_of};
use super::{asked, document, image, placeholder};

const MAX_IMAGE: usize = 3_932_160;
const MAX_DOCUMENT: usize = 4_718_592;

/// The errors of Bedrock for a request without repairs.
fn refused(contents: Vec<Content>) -> Vec<(&'static str, String)> {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user(contents).unwrap();
    let window = manager.messages().map(|message| message.message().clone()).collect();
    let violations = validate(&converse_input("model", &ModelRequest::new(window)).unwrap());
    violations.iter().map(|violation| (violation.rule(), violation.to_string())).collect()
}

#[tokio::test]
async fn newest_attachments_stay_and_others_become_placeholders() {
    let images = |count| (0..count).map(|n| image(PNG).with_label(format!("picture {n}")).into());
    let documents = |count| (0..count).map(|n| document(PDF, &format!("page {n}")).into());
    let all: Vec<Content> = images(22).chain(documents(7)).chain(["Which one?".into()]).collect();
    let wordings = refused(all.clone());
    assert_eq!(
        wordings.iter().map(|(kind, wording)| (*kind, wording.as_str())).collect::<Vec<_>>(),
        [
            (
                "attachments-number",
                "The model returned the following errors: too many images and documents: 22 + 7 > 20"
            ),
            ("document-number", "You can't include more than 5 documents in a request."),
        ]
    );
    let (content, repairs) = asked(all).await;
    let content = content.as_array().unwrap();
    // Claude counts images and documents together, so the oldest images give way.
    assert_eq!(content.iter().filter(|block| block.get("image").is_some()).count(), 15);
    assert_eq!(content.iter().filter(|block| block.get("document").is_some()).count(), 5);
    let name = |n: usize| json!({"text": format!("[image \"picture {n}\"]")});
    assert_eq!(
        content[..5],
        [name(0), placeholder("image", "image/png"), name(1), placeholder("image", "image/png"), name(2)]
    );
    assert_eq!(content[44..46], [placeholder("document", "page 0"), placeholder("document", "page 1")]);
    assert_eq!(
        repairs,
        [
            "messages.0.content.1: replaced the image with text, because the request may have 20 at most",
            "messages.0.content.3: replaced the image with text, because the request may have 20 at most",
            "messages.0.content.44: replaced the document with text, because the request may have 5 at most",
            "messages.0.content.45: replaced the document with text, because the request may have 5 at most",
            "messages.0.content.5: replaced the image with text, because the request may have 20 at most",
            "messages.0.content.7: replaced the image with text, because the request may have 20 at most",
            "messages.0.content.9: replaced the image with text, because the request may have 20 at most",
            "messages.0.content.11: replaced the image with text, because the request may have 20 at most",
            "messages.0.content.13: replaced the image with text, because the request may have 20 at most",
        ]
    );
    let at_most: Vec<Content> = images(20).chain(documents(5)).chain(["Which one?".into()]).collect();
    assert_eq!(refused(at_most), []);
}

#[tokio::test]
async fn attachments_that_are_too_large_become_placeholders() {
    let contents = |image_bytes, document_bytes| -> Vec<Content> {
        vec![
            image(png_of(image_bytes)).with_label("the poster").into(),
            document(&pdf_of(document_bytes), "the book").into(),
            "Which page?".into(),
        ]
    };
    assert_eq!(refused(contents(MAX_IMAGE, MAX_DOCUMENT)), []);
    assert_eq!(
        refused(contents(MAX_IMAGE + 1, MAX_DOCUMENT + 1)),
        [
            (
                "image-bytes",
                "The model returned the following errors: messages.0.content.1.image.source.bytes: image exceeds 5 MB \
                 maximum: 5242884 bytes > 5242880 bytes"
                    .to_owned()
            ),
            (
                "document-bytes",
                "The maximum document size is 4.5 MB. Reduce the size of your document and retry your request."
                    .to_owned()
            ),
        ]
    );
    let (content, repairs) = asked(contents(MAX_IMAGE + 1, MAX_DOCUMENT + 1)).await;
    assert_eq!(
        content,
        json!([
            {"text": "[image \"the poster\"]"},
            placeholder("image", "image/png"),
            placeholder("document", "the book"),
            {"text": "Which page?"},
        ])
    );
    assert_eq!(
        repairs,
        [
            "messages.0.content.1: replaced the image with text, because it is larger than 3932160 bytes",
            "messages.0.content.2: replaced the document with text, because it is larger than 4718592 bytes",
        ]
    );
}
