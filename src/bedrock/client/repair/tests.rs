//! Repairs make any request valid, and are reported.

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    CachePointBlock, CachePointType, DocumentBlock, DocumentFormat, DocumentSource, ImageBlock, ImageFormat,
    ImageSource, Tool, ToolConfiguration, ToolInputSchema, ToolResultBlock, ToolResultContentBlock, ToolResultStatus,
    ToolSpecification, ToolUseBlock,
};
use aws_smithy_types::Document;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::bedrock::profile::CachePlaces;
use crate::bedrock::to_json;
use crate::bedrock::validate::validate_for;

mod random;

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.into())
}

fn user(content: impl IntoIterator<Item = ContentBlock>) -> Message {
    message(ConversationRole::User, content.into_iter().collect())
}

fn assistant(content: impl IntoIterator<Item = ContentBlock>) -> Message {
    message(ConversationRole::Assistant, content.into_iter().collect())
}

fn object() -> Document {
    Document::Object([].into())
}

fn call(id: &str) -> ContentBlock {
    call_of(id, "get_user", object())
}

fn call_of(id: &str, name: &str, input: Document) -> ContentBlock {
    ContentBlock::ToolUse(ToolUseBlock::builder().tool_use_id(id).name(name).input(input).build().unwrap())
}

fn result(id: &str) -> ContentBlock {
    result_of(id, ToolResultStatus::Success, vec![ToolResultContentBlock::Json(object())])
}

fn result_of(id: &str, status: ToolResultStatus, content: Vec<ToolResultContentBlock>) -> ContentBlock {
    let result = ToolResultBlock::builder().tool_use_id(id).status(status).set_content(Some(content)).build();
    ContentBlock::ToolResult(result.unwrap())
}

fn image_of(bytes: usize) -> ImageBlock {
    let source = ImageSource::Bytes(Blob::new(vec![0; bytes]));
    ImageBlock::builder().format(ImageFormat::Png).source(source).build().unwrap()
}

fn document_of(name: &str, bytes: usize) -> DocumentBlock {
    let source = DocumentSource::Bytes(Blob::new(vec![0; bytes]));
    DocumentBlock::builder().format(DocumentFormat::Pdf).name(name).source(source).build().unwrap()
}

fn image() -> ContentBlock {
    ContentBlock::Image(image_of(1))
}

fn document(name: &str) -> ContentBlock {
    ContentBlock::Document(document_of(name, 1))
}

fn cache_point() -> CachePointBlock {
    CachePointBlock::builder().r#type(CachePointType::Default).build().unwrap()
}

fn tool(name: &str) -> Tool {
    let schema = Document::Object([("type".to_owned(), Document::from("object"))].into());
    let spec = ToolSpecification::builder().name(name).input_schema(ToolInputSchema::Json(schema)).build();
    Tool::ToolSpec(spec.unwrap())
}

fn input(messages: Vec<Message>) -> ConverseInput {
    let tools = ToolConfiguration::builder().tools(tool("get_user")).build().unwrap();
    ConverseInput::builder().model_id("model").set_messages(Some(messages)).tool_config(tools).build().unwrap()
}

fn small() -> Profile {
    let mut profile = Profile::claude();
    profile.max_images = 2;
    profile.max_documents = 2;
    profile.max_image_bytes = 4;
    profile.max_document_bytes = 4;
    profile
}

/// Repairs the messages and returns their contents and the repairs. Asserts that the result is valid and stays unchanged.
#[track_caller]
fn repaired_for(profile: &Profile, messages: Vec<Message>) -> (Json, Vec<String>) {
    let mut input = input(messages);
    let repairs = repair_for(&mut input, profile);
    assert_eq!(validate_for(&input, profile), []);
    let json = input.messages().iter().map(|message| to_json(message)["content"].clone()).collect();
    let repaired = input.clone();
    assert_eq!(repair_for(&mut input, profile), [""; 0]);
    assert_eq!(input, repaired);
    (json, repairs)
}

#[track_caller]
fn assert_repaired(messages: Vec<Message>, contents: Json, repairs: &[&str]) {
    assert_eq!(
        repaired_for(&small(), messages),
        (contents, repairs.iter().map(|repair| (*repair).to_owned()).collect())
    );
}

#[test]
fn valid_request_stays_unchanged() {
    let messages = vec![
        user([text("..."), image(), document("report")]),
        assistant([text("One moment"), call("a"), call("b")]),
        user([result("b"), result("a"), text("Hello?"), ContentBlock::CachePoint(cache_point())]),
    ];
    let mut input = input(messages.clone());
    assert_eq!(repair_for(&mut input, &small()), [""; 0]);
    assert_eq!(input.messages, Some(messages));
}

#[test]
fn roles_and_blank_texts_are_repaired() {
    assert_repaired(
        vec![],
        json!([[{"text": "..."}]]),
        &["messages.0: inserted a user message `...`, because there was no message"],
    );
    assert_repaired(
        vec![
            assistant([text("Hello")]),
            user([text("a"), text(" \u{200b}")]),
            user([text("b")]),
            assistant([text("")]),
        ],
        json!([[{"text": "..."}], [{"text": "Hello"}], [{"text": "a"}, {"text": "b"}]]),
        &[
            "messages.1: removed blank texts",
            "messages.3: removed blank texts",
            "messages.2: merged into the message before, which has the same role",
            "messages.3: removed an empty message",
            "messages.0: inserted a user message `...`, because the conversation started with the assistant",
        ],
    );
    let messages = || vec![user([text("a")]), assistant([text("b")])];
    assert_repaired(
        messages(),
        json!([[{"text": "a"}], [{"text": "b"}], [{"text": "..."}]]),
        &["messages.2: added a user message `...`, because the conversation ended with the assistant"],
    );
    assert_eq!(repaired_for(&Profile::default(), messages()), (json!([[{"text": "a"}], [{"text": "b"}]]), vec![]));
    let cut_off = vec![user([text("a")]), assistant([text("Yes, "), ContentBlock::CachePoint(cache_point())])];
    let older = Profile::for_model("anthropic.claude-haiku-4-5-20251001-v1:0");
    let trimmed = "messages.1: trimmed white space from the end of the assistant's last text";
    let contents = json!([[{"text": "a"}], [{"text": "Yes,"}, {"cachePoint": {"type": "default"}}]]);
    assert_eq!(repaired_for(&older, cut_off), (contents, vec![trimmed.to_owned()]));
}

#[test]
fn unpaired_calls_and_results_become_texts() {
    assert_repaired(
        vec![
            user([text("[tool call: x]"), result("z")]),
            assistant([call("a"), call("b"), call("a"), call_of("c", "no name", object())]),
            user([text("hello?"), result("a"), result("c"), result("a")]),
            assistant([call("a"), result("a")]),
            user([result("a")]),
        ],
        json!([
            [{"text": "\\[tool call: x]"},
             {"text": "[tool result: {\"content\":[{\"json\":{}}],\"status\":\"success\",\"toolUseId\":\"z\"}]"}],
            [{"text": "[tool call: {\"input\":{},\"name\":\"get_user\",\"toolUseId\":\"b\"}]"},
             {"text": "[tool call: {\"input\":{},\"name\":\"get_user\",\"toolUseId\":\"a\"}]"},
             {"toolUse": {"toolUseId": "a", "name": "get_user", "input": {}}},
             {"toolUse": {"toolUseId": "c", "name": "no_name-f208e82414ce", "input": {}}}],
            [{"toolResult": {"toolUseId": "a", "status": "success", "content": [{"json": {}}]}},
             {"toolResult": {"toolUseId": "c", "status": "success", "content": [{"json": {}}]}},
             {"text": "hello?"},
             {"text": "[tool result: {\"content\":[{\"json\":{}}],\"status\":\"success\",\"toolUseId\":\"a\"}]"}],
            [{"text": "[tool call: {\"input\":{},\"name\":\"get_user\",\"toolUseId\":\"a\"}]"},
             {"text": "[tool result: {\"content\":[{\"json\":{}}],\"status\":\"success\",\"toolUseId\":\"a\"}]"}],
            [{"text": "[tool result: {\"content\":[{\"json\":{}}],\"status\":\"success\",\"toolUseId\":\"a\"}]"}],
        ]),
        &[
            "messages.1.content.3: renamed the tool of a call, because Bedrock refuses the name",
            "messages.0.content.1: replaced a tool result with text, because it answers no call",
            "messages.1.content.1: replaced a tool call with text, because it has no result",
            "messages.1.content.2: replaced a tool call with text, because it has no result",
            "messages.2.content.3: replaced a tool result with text, because it answers no call",
            "messages.3.content.0: replaced a tool call with text, because it has no result",
            "messages.3.content.1: replaced a tool result with text, because it answers no call",
            "messages.4.content.0: replaced a tool result with text, because it answers no call",
            "messages.2: moved tool results to the start",
            "messages.1: moved tool calls after the other contents",
        ],
    );
}

#[test]
fn inputs_and_results_of_tools_are_repaired() {
    let parts = vec![
        ToolResultContentBlock::Text(" ".into()),
        ToolResultContentBlock::Json(Document::Array(vec![Document::from(true)])),
    ];
    assert_repaired(
        vec![
            user([text("x")]),
            assistant([
                call_of("a", "get_user", Document::from("Mia")),
                call_of("b", "get_user", Document::Null),
                call("c"),
            ]),
            user([
                result_of("a", ToolResultStatus::Success, parts),
                result_of("b", ToolResultStatus::Error, vec![ToolResultContentBlock::Text("\n".into())]),
                result_of("c", ToolResultStatus::Success, vec![ToolResultContentBlock::Text("\n".into())]),
            ]),
        ],
        json!([
            [{"text": "x"}],
            [{"toolUse": {"toolUseId": "a", "name": "get_user", "input": {"arguments": "Mia"}}},
             {"toolUse": {"toolUseId": "b", "name": "get_user", "input": {}}},
             {"toolUse": {"toolUseId": "c", "name": "get_user", "input": {}}}],
            [{"toolResult": {"toolUseId": "a", "status": "success", "content": [{"text": "[true]"}]}},
             {"toolResult": {"toolUseId": "b", "status": "error", "content": [{"text": "the tool failed without a message"}]}},
             {"toolResult": {"toolUseId": "c", "status": "success", "content": [{"json": {}}]}}],
        ]),
        &[
            "messages.1.content.0: wrapped the input of a tool call in an object",
            "messages.1.content.1: wrapped the input of a tool call in an object",
            "messages.2.content.0: removed blank texts from a tool result",
            "messages.2.content.0: replaced JSON of a tool result with text, because it is not an object",
            "messages.2.content.1: removed blank texts from a tool result",
            "messages.2.content.1: added a text to an empty tool error",
            "messages.2.content.2: removed blank texts from a tool result",
        ],
    );
}

#[test]
fn texts_are_separated_from_tools_where_the_model_requires_it() {
    let profile = Profile { text_beside_tools: false, ..Profile::default() };
    let messages = vec![user([text("x")]), assistant([text("y"), call("a")]), user([result("a"), text("z")])];
    let (contents, repairs) = repaired_for(&profile, messages);
    let expected = json!([
        [{"text": "x"}],
        [{"text": "y"}],
        [{"text": "..."}],
        [{"toolUse": {"toolUseId": "a", "name": "get_user", "input": {}}}],
        [{"toolResult": {"toolUseId": "a", "status": "success", "content": [{"json": {}}]}}],
        [{"text": "..."}],
        [{"text": "z"}],
    ]);
    assert_eq!(contents, expected);
    let separated = "separated texts from tool calls or results with a message `...`";
    assert_eq!(repairs, [format!("messages.1: {separated}"), format!("messages.2: {separated}")]);
}

#[test]
fn attachments_are_repaired() {
    let unavailable = |kind: &str| json!({"text": format!("[{kind}: not available to the model]")});
    let in_result = ToolResultContentBlock::Image(image_of(2));
    let kept = json!({"image": {"format": "png", "source": {"bytes": "AA=="}}});
    assert_repaired(
        vec![
            user([text("x"), image(), ContentBlock::Image(image_of(5))]),
            assistant([image(), document("terms"), call("a")]),
            user([result_of("a", ToolResultStatus::Success, vec![in_result]), image(), image()]),
        ],
        json!([
            [{"text": "x"}, unavailable("image \"image/png\""), unavailable("image \"image/png\"")],
            [unavailable("image \"image/png\""), unavailable("document \"terms\""),
             {"toolUse": {"toolUseId": "a", "name": "get_user", "input": {}}}],
            [{"toolResult": {"toolUseId": "a", "status": "success", "content": [unavailable("image \"image/png\"")]}}, kept, kept],
        ]),
        &[
            "messages.1.content.0: replaced the image with text, because the assistant cannot send attachments",
            "messages.1.content.1: replaced the document with text, because the assistant cannot send attachments",
            "messages.0.content.2: replaced the image with text, because it is larger than 4 bytes",
            "messages.0.content.1: replaced the image with text, because the request may have 2 at most",
            "messages.2.content.0: replaced the image in a tool result with text, because the request may have 2 at most",
        ],
    );
    let document_json = |name: &str| json!({"document": {"format": "pdf", "name": name, "source": {"bytes": "AA=="}}});
    assert_repaired(
        vec![user([
            document("old"),
            ContentBlock::Document(document_of("large", 5)),
            document("Mia's  CV.pdf"),
            document("Mia s CV pdf"),
        ])],
        json!([[
            unavailable("document \"old\""),
            unavailable("document \"large\""),
            document_json("Mia s CV pdf"),
            document_json("Mia s CV pdf (2)"),
        ]]),
        &[
            "messages.0.content.1: replaced the document with text, because it is larger than 4 bytes",
            "messages.0.content.0: replaced the document with text, because the request may have 2 at most",
            "messages.0.content.2: renamed a document, because Bedrock refuses its name",
            "messages: added numbers to the names of documents with equal names",
        ],
    );
    assert_repaired(
        vec![user([document("old")])],
        json!([[document_json("old"), {"text": "[document]"}]]),
        &["messages.0: added a text beside a document"],
    );
}

#[test]
fn prompts_tools_and_cache_points_are_repaired() {
    let point = || ContentBlock::CachePoint(cache_point());
    let mut profile = small();
    for (places, left) in [
        (CachePlaces::Everywhere, (1, 1, 2)),
        (CachePlaces::SystemAndTexts, (0, 1, 1)),
        (CachePlaces::Nowhere, (0, 0, 0)),
    ] {
        profile.cache_points = places;
        let mut input = input(vec![
            user([text("x"), point()]),
            assistant([call("a")]),
            user([result("a"), point()]),
            assistant([text("y"), point()]),
            user([point()]),
            user([image(), point()]),
        ]);
        let tools = &mut input.tool_config.as_mut().unwrap().tools;
        tools.extend([tool("get_user"), Tool::CachePoint(cache_point())]);
        input.system = Some(vec![
            SystemContentBlock::Text(" ".into()),
            SystemContentBlock::Text("You answer.".into()),
            SystemContentBlock::CachePoint(cache_point()),
        ]);
        profile.max_cache_points = if places == CachePlaces::Everywhere { 4 } else { 2 };
        let repairs: Vec<_> = repair_for(&mut input, &profile);
        assert_eq!(
            repairs,
            [
                "system: removed blank texts",
                "toolConfig.tools: removed tools with the name of another tool",
                "messages.4: removed an empty message",
                "messages: removed cache points that the model does not support",
            ]
        );
        assert_eq!(validate_for(&input, &profile), []);
        let tools = input.tool_config().unwrap().tools();
        let in_messages = input.messages().iter().flat_map(|message| message.content());
        let counts =
            (tools.len() - 1, input.system().len() - 1, in_messages.filter(|block| block.is_cache_point()).count());
        assert_eq!(counts, left, "{places:?}");
    }
}

#[test]
fn calls_and_results_become_texts_without_tools() {
    let mut input = input(vec![user([text("x")]), assistant([call("a")]), user([result("a")])]);
    input.tool_config = None;
    let repairs: Vec<_> = repair_for(&mut input, &small());
    let why = "replaced a tool call or result with text, because the request has no tools";
    assert_eq!(repairs, [format!("messages.1.content.0: {why}"), format!("messages.2.content.0: {why}")]);
    assert_eq!(validate_for(&input, &small()), []);
}
