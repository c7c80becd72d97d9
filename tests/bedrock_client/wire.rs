//! The JSON and the requests of this crate equal the bytes of the real SDK client. Nothing leaves the process.

use std::sync::{Arc, Mutex};

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::{BehaviorVersion, Config, Credentials, Region, RuntimeComponents};
use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::*;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::{Document as SdkDocument, Number};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::bedrock::{converse_input, to_json};
use verbale::model::{ModelRequest, ToolSpec};
use verbale::{MessageWrapper, MessagesManager, PlainMessage};

/// Keeps the body of the last request and answers with a greeting.
#[derive(Debug, Clone, Default)]
struct Capture(Arc<Mutex<Json>>);

impl HttpConnector for Capture {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        *self.0.lock().unwrap() = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        let answer = json!({"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
            "stopReason": "end_turn", "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1}});
        HttpConnectorFuture::ready(Ok(HttpResponse::new(200.try_into().unwrap(), SdkBody::from(answer.to_string()))))
    }
}

impl HttpClient for Capture {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// Returns the body that the SDK sends for `input`.
fn sent(input: ConverseInput) -> Json {
    let capture = Capture::default();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("AKIDEXAMPLE", "secret", None, None, "test"))
        .http_client(capture.clone())
        .build();
    let call = Client::from_conf(config)
        .converse()
        .model_id(input.model_id.unwrap())
        .set_messages(input.messages)
        .set_system(input.system)
        .set_tool_config(input.tool_config);
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(call.send()).unwrap();
    capture.0.lock().unwrap().take()
}

fn assert_equals_sent(messages: Vec<Message>) {
    let ours: Json = messages.iter().map(to_json).collect();
    let input = ConverseInput::builder().model_id("model").set_messages(Some(messages)).build().unwrap();
    assert_eq!(ours, sent(input)["messages"]);
}

fn message(role: ConversationRole, content: impl IntoIterator<Item = ContentBlock>) -> Message {
    Message::builder().role(role).set_content(Some(content.into_iter().collect())).build().unwrap()
}

fn blob() -> Blob {
    Blob::new(vec![0, 1, 254, 255])
}

fn s3() -> S3Location {
    S3Location::builder().uri("s3://calls/1").bucket_owner("123456789012").build().unwrap()
}

fn image(source: ImageSource) -> ImageBlock {
    ImageBlock::builder().format(ImageFormat::Webp).source(source).build().unwrap()
}

fn video(source: VideoSource) -> VideoBlock {
    VideoBlock::builder().format(VideoFormat::ThreeGp).source(source).build().unwrap()
}

fn document(source: DocumentSource) -> DocumentBlock {
    let citations = CitationsConfig::builder().enabled(true).build().unwrap();
    DocumentBlock::builder()
        .format(DocumentFormat::Xlsx)
        .name("prices")
        .source(source)
        .context("of 2024")
        .citations(citations)
        .build()
        .unwrap()
}

fn search_result() -> SearchResultBlock {
    SearchResultBlock::builder()
        .source("https://example.com")
        .title("Prices")
        .content(SearchResultContentBlock::builder().text("10 €").build().unwrap())
        .citations(CitationsConfig::builder().enabled(false).build().unwrap())
        .build()
        .unwrap()
}

fn cache_point() -> CachePointBlock {
    CachePointBlock::builder().r#type(CachePointType::Default).ttl(CacheTtl::OneHour).build().unwrap()
}

fn arguments() -> SdkDocument {
    let json = json!({"id": 7, "big": u64::MAX, "small": i64::MIN, "float": -0.1, "none": null, "yes": true,
        "list": [[], {}, "\"\\\n\u{1}é😀"]});
    let SdkDocument::Object(mut entries) = crate::document::document(json) else { unreachable!() };
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, 1e300];
    let floats = floats.map(|float| SdkDocument::Number(Number::Float(float)));
    entries.insert("floats".into(), SdkDocument::Array(floats.into()));
    SdkDocument::Object(entries)
}

fn tool_use() -> ContentBlock {
    let call = ToolUseBlock::builder().tool_use_id("call_1").name("get_user").input(arguments());
    ContentBlock::ToolUse(call.r#type(ToolUseType::ServerToolUse).build().unwrap())
}

#[test]
fn blocks_of_this_crate_equal_those_of_the_sdk() {
    let result = ToolResultBlock::builder()
        .tool_use_id("call_1")
        .status(ToolResultStatus::Error)
        .content(ToolResultContentBlock::Text("no answer".into()))
        .content(ToolResultContentBlock::Json(arguments()))
        .content(ToolResultContentBlock::Image(image(ImageSource::Bytes(blob()))))
        .content(ToolResultContentBlock::Video(video(VideoSource::S3Location(s3()))))
        .content(ToolResultContentBlock::Document(document(DocumentSource::Text("a,b".into()))))
        .content(ToolResultContentBlock::SearchResult(search_result()))
        .r#type("tool_result");
    let bare = ToolResultBlock::builder().tool_use_id("call_2").set_content(Some(Vec::new())).build().unwrap();
    assert_equals_sent(vec![
        message(
            ConversationRole::User,
            [
                ContentBlock::Text("Hi, \"there\" \\ \n \u{1} è 😀 \u{2028}".into()),
                ContentBlock::Image(image(ImageSource::Bytes(blob()))),
                ContentBlock::Image(image(ImageSource::S3Location(s3()))),
                ContentBlock::Video(video(VideoSource::Bytes(blob()))),
                ContentBlock::Document(document(DocumentSource::Bytes(blob()))),
                ContentBlock::Document(document(DocumentSource::S3Location(s3()))),
                ContentBlock::CachePoint(cache_point()),
            ],
        ),
        message(ConversationRole::Assistant, [tool_use()]),
        message(
            ConversationRole::User,
            [ContentBlock::ToolResult(result.build().unwrap()), ContentBlock::ToolResult(bare)],
        ),
    ]);
}

#[test]
fn other_blocks_equal_those_of_the_sdk() {
    let error = || ErrorBlock::builder().message("too blurred").build();
    let audio = |source| {
        let audio = AudioBlock::builder().format(AudioFormat::Mp3).source(source).error(error());
        ContentBlock::Audio(audio.build().unwrap())
    };
    let reasoning = ReasoningTextBlock::builder().text("hm").signature("sig").build().unwrap();
    let guard_text = GuardrailConverseTextBlock::builder()
        .text("x")
        .qualifiers(GuardrailConverseContentQualifier::GroundingSource)
        .build()
        .unwrap();
    let guard_image = GuardrailConverseImageBlock::builder()
        .format(GuardrailConverseImageFormat::Png)
        .source(GuardrailConverseImageSource::Bytes(blob()))
        .build()
        .unwrap();
    let reference = || ToolReference::builder().name("get_user").server_name("crm").build();
    let pages = DocumentContentBlock::Text("page 1".into());
    assert_equals_sent(vec![message(
        ConversationRole::Assistant,
        [
            audio(AudioSource::Bytes(blob())),
            audio(AudioSource::S3Location(s3())),
            ContentBlock::Image(ImageBlock::builder().format(ImageFormat::Gif).error(error()).build().unwrap()),
            ContentBlock::Document(document(DocumentSource::Content(vec![pages]))),
            ContentBlock::ReasoningContent(ReasoningContentBlock::ReasoningText(reasoning)),
            ContentBlock::ReasoningContent(ReasoningContentBlock::RedactedContent(blob())),
            ContentBlock::SearchResult(search_result()),
            ContentBlock::GuardContent(GuardrailConverseContentBlock::Text(guard_text)),
            ContentBlock::GuardContent(GuardrailConverseContentBlock::Image(guard_image)),
            ContentBlock::ToolAddition(ToolAdditionBlock::builder().tool(reference()).build()),
            ContentBlock::ToolRemoval(ToolRemovalBlock::builder().tool(reference()).build()),
            citations(),
        ],
    )]);
}

fn citations() -> ContentBlock {
    let locations = [
        CitationLocation::Web(WebLocation::builder().url("https://example.com").domain("example.com").build()),
        CitationLocation::DocumentChar(DocumentCharLocation::builder().document_index(0).start(1).end(2).build()),
        CitationLocation::DocumentPage(DocumentPageLocation::builder().document_index(0).start(1).build()),
        CitationLocation::DocumentChunk(DocumentChunkLocation::builder().document_index(0).end(2).build()),
        CitationLocation::SearchResultLocation(
            SearchResultLocation::builder().search_result_index(3).start(1).end(2).build(),
        ),
    ];
    let citations = locations.map(|location| {
        Citation::builder()
            .title("Prices")
            .source("prices")
            .source_content(CitationSourceContent::Text("10 €".into()))
            .location(location)
            .build()
    });
    let content = CitationsContentBlock::builder()
        .content(CitationGeneratedContent::Text("It costs 10 €.".into()))
        .set_citations(Some(citations.into()));
    ContentBlock::CitationsContent(content.build())
}

#[test]
fn request_keeps_its_order() {
    let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("Hi").unwrap();
    let mut request = ModelRequest::new(manager.messages().map(|message| message.message().clone()).collect());
    request.tools = [ToolSpec::new("get_user", "", schema.clone()).unwrap()].into();
    request.memory = Some("The caller is <Mia>.".into());
    request.system.push("You answer the phone.".into());
    let input = converse_input("model", &request).unwrap();
    let [_, SystemContentBlock::Text(summary)] = input.system() else { panic!("not two texts") };
    let summary = summary.clone();
    assert!(summary.ends_with("<record_of_the_call>\nThe caller is &lt;Mia&gt;.\n</record_of_the_call>"), "{summary}");
    assert_eq!(
        sent(input),
        json!({
            "system": [{"text": "You answer the phone."}, {"text": summary}],
            "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
            "toolConfig": {"tools": [{"toolSpec": {"name": "get_user", "inputSchema": {"json": schema}}}]},
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_text_equals_that_of_the_sdk(texts in proptest::collection::vec(".*", 1..20)) {
        assert_equals_sent(vec![message(ConversationRole::User, texts.into_iter().map(ContentBlock::Text))]);
    }
}
