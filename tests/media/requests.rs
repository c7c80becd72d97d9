//! Contents that a model gets as blocks, and contents that become placeholders.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use verbale::message::{Media, MediaKind, ResultContent, Source};
use verbale::{Content, ToolCall, Value};

use super::files::{GIF, HEIC, MP4, PDF, PNG, WAV};
use super::{Manager, NOVA, ask, ask_of, asked, audio, document, image, placeholder, stored_image, video, window};

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn png() -> Json {
    json!({"image": {"format": "png", "source": {"bytes": base64(PNG)}}})
}

#[tokio::test]
async fn each_kind_is_sent_or_becomes_a_placeholder() {
    let by_url = |kind, url: &str| Media::from_url(kind, url).unwrap();
    let contents: Vec<Content> = vec![
        "What is on these?".into(),
        image(PNG).with_label("the receipt").into(),
        image(GIF).into(),
        by_url(MediaKind::Image, &format!("data:image/png;base64,{}", base64(PNG))).into(),
        by_url(MediaKind::Image, "s3://pictures/1.png").with_mime_type("image/png").into(),
        video(MP4).into(),
        document(PDF, "Terms, 2024").into(),
        Media::from_bytes(MediaKind::Document, b"a,b\n1,2".as_slice(), Some("text/csv"))
            .unwrap()
            .with_label("Prices")
            .into(),
        // The model gets placeholders for these.
        audio(WAV).into(),
        by_url(MediaKind::Audio, "https://example.com/1.mp3").with_label("the voice mail").into(),
        by_url(MediaKind::Image, "https://example.com/1.png?token=secret").with_label("the dress").into(),
        by_url(MediaKind::Image, "s3://pictures/2").with_label("the hat").into(),
        image(HEIC).into(),
        stored_image("sha256:ab").with_label("the shoe").into(),
        Media::from_url(MediaKind::Document, "https://example.com/1.pdf").unwrap().with_label("Rules").into(),
    ];
    let manager = super::shown(contents);
    let id = manager.meta_messages()[0].id();
    let (messages, repairs) = ask_of(NOVA, window(&manager)).await;
    let document = |format: &str, name: &str, bytes: &[u8]| json!({"document": {"format": format, "name": name, "source": {"bytes": base64(bytes)}}});
    assert_eq!(
        messages,
        json!([{"role": "user", "content": [
            {"text": "What is on these?"},
            {"text": "[image \"the receipt\"]"},
            png(),
            {"image": {"format": "gif", "source": {"bytes": base64(GIF)}}},
            png(),
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://pictures/1.png"}}}},
            {"video": {"format": "mp4", "source": {"bytes": base64(MP4)}}},
            document("pdf", "Terms 2024", PDF),
            document("csv", "Prices", b"a,b\n1,2"),
            placeholder("audio", "audio/wav"),
            placeholder("audio", "the voice mail"),
            placeholder("image", "the dress"),
            placeholder("image", "the hat"),
            placeholder("image", "image/heif"),
            placeholder("image", "the shoe"),
            placeholder("document", "Rules"),
        ]}])
    );
    let told = |what: &str, why: &str| format!("replaced the {what} of message {id} with text: {why}");
    let sound = "the model does not support audio: add a transcript as text";
    let url = "Bedrock does not fetch its URL: add its bytes, or, for Nova, an `s3://` URL";
    let format = "its type is unknown or not supported: use image/png, image/jpeg, image/gif or image/webp";
    assert_eq!(
        repairs,
        [
            told("audio", sound),
            told("audio", sound),
            told("image", url),
            told("image", format),
            told("image", format),
            told("image", "it is in a content store: load it with `contents::resolve`"),
            told("document", url),
        ]
    );
}

#[tokio::test]
async fn claude_gets_neither_videos_nor_s3_contents() {
    let in_s3 = |name: &str| Media::from_url(MediaKind::Image, "s3://pictures/1.png").unwrap().with_label(name);
    let pdf = Media::from_url(MediaKind::Document, "s3://pages/1.pdf")
        .unwrap()
        .with_mime_type("application/pdf")
        .with_label("Terms");
    let call = ToolCall::new("call_1", "look", Value::Null).unwrap();
    let mut manager = super::shown(["Look.".into(), video(MP4).with_label("the walk").into()]);
    manager.add_assistant(call.clone()).unwrap();
    let parts = [in_s3("the dress").with_mime_type("image/png")];
    manager.add_user(vec![Content::from(call.success(parts)), pdf.into()]).unwrap();

    let (messages, repairs) = ask(window(&manager)).await;
    let name = |kind: &str, name: &str| json!({"text": format!("[{kind} \"{name}\"]")});
    assert_eq!(
        messages[0]["content"],
        json!([{"text": "Look."}, name("video", "the walk"), placeholder("video", "video/mp4")])
    );
    assert_eq!(
        messages[2]["content"],
        json!([
            {"toolResult": {"toolUseId": "call_1", "status": "success",
                "content": [name("image", "the dress"), placeholder("image", "image/png")]}},
            placeholder("document", "Terms"),
            {"text": "[document]"},
        ])
    );
    let in_s3 = "with text, because the model does not read from S3; add its bytes";
    assert_eq!(
        repairs,
        [
            "messages.0.content.2: replaced the video with text, because the model does not support videos".to_owned(),
            format!("messages.2.content.0: replaced the image in a tool result {in_s3}"),
            format!("messages.2.content.1: replaced the document {in_s3}"),
        ]
    );
    assert_eq!(ask_of(NOVA, window(&manager)).await.1, [""; 0]);
}

#[tokio::test]
async fn wrong_mime_type_is_repaired() {
    let (content, repairs) = asked([
        Content::from(Media::new(MediaKind::Image, Source::Bytes(PNG.into())).with_mime_type("image/jpeg")),
        Media::new(MediaKind::Document, Source::Bytes(PDF.into()))
            .with_label("Terms")
            .with_mime_type("text/plain")
            .into(),
        Media::new(MediaKind::Image, Source::Bytes(PDF.into())).with_mime_type("image/png").into(),
    ])
    .await;
    assert_eq!(content[0], png());
    assert_eq!(content[1]["document"]["format"], "pdf");
    assert_eq!(content[2], placeholder("image", "image/png"));
    let reasons: Vec<_> = repairs
        .iter()
        .map(|repair| {
            let (what, rest) = repair.split_once(" of message ").unwrap();
            format!("{what} {}", rest.split_once(' ').unwrap().1)
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "sent the image as image/png: its bytes do not match the declared MIME type",
            "sent the document as application/pdf: its bytes do not match the declared MIME type",
            "replaced the image with text: its type is unknown or not supported: use image/png, image/jpeg, image/gif or \
             image/webp",
        ]
    );
}

#[tokio::test]
async fn attachments_of_a_tool_result_are_sent() {
    let call = ToolCall::new("call_1", "look", Value::Null).unwrap();
    let parts: [ResultContent; 3] = [
        image(PNG).with_label("the dress").into(),
        Media::from_url(MediaKind::Image, "https://example.com/2.png").unwrap().with_label("the hat").into(),
        document(PDF, "Prices").into(),
    ];
    let mut manager = Manager::new();
    manager.add_user("What is there?").unwrap();
    manager.add_assistant(call.clone()).unwrap();
    manager.add_user(call.success(parts)).unwrap();
    let (messages, repairs) = ask(window(&manager)).await;
    assert_eq!(
        messages[2]["content"][0]["toolResult"]["content"],
        json!([
            {"text": "[image \"the dress\"]"},
            png(),
            placeholder("image", "the hat"),
            {"document": {"format": "pdf", "name": "Prices", "source": {"bytes": base64(PDF)}}},
        ])
    );
    assert_eq!(repairs.len(), 1);
}

#[tokio::test]
async fn attachments_of_the_assistant_become_placeholders() {
    let mut manager = Manager::new();
    manager.add_user("Show me.").unwrap();
    manager.add_assistant(vec![Content::from(image(PNG).with_label("the dress")), "Here.".into()]).unwrap();
    manager.add_user("Thanks.").unwrap();
    let (messages, repairs) = ask(window(&manager)).await;
    assert_eq!(messages[1]["content"], json!([placeholder("image", "the dress"), {"text": "Here."}]));
    assert_eq!(repairs.len(), 1);
    assert!(
        repairs[0].ends_with("Converse accepts attachments only from users: add it to a user message"),
        "{repairs:?}"
    );
}
