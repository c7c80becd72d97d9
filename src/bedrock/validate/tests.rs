//! Each broken rule is one violation, with its place and Bedrock's wording.

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    CachePointBlock, CachePointType, ConversationRole, DocumentBlock, DocumentFormat, DocumentSource, ImageBlock,
    ImageFormat, ImageSource, S3Location, SystemContentBlock, Tool, ToolConfiguration, ToolInputSchema,
    ToolResultBlock, ToolResultContentBlock, ToolResultStatus, ToolSpecification, ToolUseBlock, VideoBlock,
    VideoFormat, VideoSource,
};
use aws_smithy_types::Document;

use super::*;

mod models;

const IMAGE: &[u8] = b"image";

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.into())
}

fn user(content: impl IntoIterator<Item = ContentBlock>) -> Message {
    message(ConversationRole::User, content)
}

fn assistant(content: impl IntoIterator<Item = ContentBlock>) -> Message {
    message(ConversationRole::Assistant, content)
}

fn message(role: ConversationRole, content: impl IntoIterator<Item = ContentBlock>) -> Message {
    Message::builder().role(role).set_content(Some(content.into_iter().collect())).build().unwrap()
}

fn object() -> Document {
    Document::Object([].into())
}

fn schema() -> Document {
    Document::Object([("type".to_owned(), Document::from("object"))].into())
}

fn call(id: &str) -> ContentBlock {
    named_call(id, "get_user", object())
}

fn named_call(id: &str, name: &str, input: Document) -> ContentBlock {
    ContentBlock::ToolUse(ToolUseBlock::builder().tool_use_id(id).name(name).input(input).build().unwrap())
}

fn result(id: &str) -> ContentBlock {
    result_of(id, ToolResultStatus::Success, [])
}

fn result_of(
    id: &str,
    status: ToolResultStatus,
    content: impl IntoIterator<Item = ToolResultContentBlock>,
) -> ContentBlock {
    let content = Some(content.into_iter().collect());
    let result = ToolResultBlock::builder().tool_use_id(id).status(status).set_content(content).build();
    ContentBlock::ToolResult(result.unwrap())
}

fn image_block(bytes: usize) -> ImageBlock {
    let source = ImageSource::Bytes(Blob::new(vec![0; bytes]));
    ImageBlock::builder().format(ImageFormat::Png).source(source).build().unwrap()
}

fn image() -> ContentBlock {
    ContentBlock::Image(image_block(IMAGE.len()))
}

fn document_block(name: &str, bytes: usize) -> DocumentBlock {
    let source = DocumentSource::Bytes(Blob::new(vec![0; bytes]));
    DocumentBlock::builder().format(DocumentFormat::Pdf).name(name).source(source).build().unwrap()
}

fn document(name: &str) -> ContentBlock {
    ContentBlock::Document(document_block(name, 1))
}

fn cache_point() -> CachePointBlock {
    CachePointBlock::builder().r#type(CachePointType::Default).build().unwrap()
}

fn tool(name: &str) -> Tool {
    let spec = ToolSpecification::builder().name(name).input_schema(ToolInputSchema::Json(schema())).build();
    Tool::ToolSpec(spec.unwrap())
}

/// A request with one tool and these messages.
fn input(messages: impl IntoIterator<Item = Message>) -> ConverseInput {
    ConverseInput::builder()
        .model_id("model")
        .system(SystemContentBlock::Text("You answer the phone.".into()))
        .set_messages(Some(messages.into_iter().collect()))
        .tool_config(ToolConfiguration::builder().tools(tool("get_user")).build().unwrap())
        .build()
        .unwrap()
}

/// A conversation with every allowed block, up to its limits.
fn valid() -> Vec<Message> {
    let longest = "x".repeat(64);
    vec![
        user([text("..."), image(), document("Terms [2024] (v2)-final"), document(&"n".repeat(200))]),
        assistant([text("One moment"), call("tooluse_kZJMlvQmRJ6eAyJE5GIl7Q"), call(&longest)]),
        user([
            result_of(&longest, ToolResultStatus::Error, [ToolResultContentBlock::Text("no answer".into())]),
            result_of(
                "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q",
                ToolResultStatus::Success,
                [
                    ToolResultContentBlock::Json(object()),
                    ToolResultContentBlock::Image(image_block(3_932_160)),
                    ToolResultContentBlock::Document(document_block("card", 4_718_592)),
                ],
            ),
            text("Hello?"),
            ContentBlock::CachePoint(cache_point()),
        ]),
        assistant([call("call_3")]),
        user([result("call_3")]),
    ]
}

#[track_caller]
fn assert_violations<const N: usize>(input: &ConverseInput, expected: [(Place, &str); N]) {
    let violations = validate_for(input, &Profile::claude());
    let found: Vec<_> = violations.iter().map(|violation| (violation.place, violation.wording.as_str())).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn assert_violation(messages: impl IntoIterator<Item = Message>, place: Place, wording: &str) {
    assert_violations(&input(messages), [(place, wording)]);
}

#[test]
fn valid_conversation_has_no_violation() {
    assert_violations(&input(valid()), []);
}

#[test]
fn conversation_must_start_with_user() {
    const WORDING: &str =
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.";
    let messages = [assistant([text("Hello")]), user([text("Hi")])];
    assert_violation(messages, Place::Message(0), WORDING);
    assert_violation([], Place::Request, WORDING);
}

#[test]
fn roles_must_alternate() {
    const WORDING: &str = "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.";
    let messages = [user([text("a")]), assistant([text("b")]), assistant([text("c")]), user([text("d")])];
    assert_violation(messages, Place::Message(2), WORDING);
}

#[test]
fn some_models_require_the_last_message_from_the_user() {
    const WORDING: &str =
        "This model does not support assistant message prefill. The conversation must end with a user message.";
    let messages = || [user([text("a")]), assistant([text("b")])];
    assert_violation(messages(), Place::Message(1), WORDING);
    assert_eq!(validate_for(&input(messages()), &Profile::default()), []);
}

#[test]
fn message_without_contents_is_refused() {
    const WORDING: &str = "The content field in the Message object at messages.2 is empty. Add a ContentBlock object to the content field and try again.";
    let messages = [user([text("a")]), assistant([text("b")]), user([])];
    assert_violation(messages, Place::Message(2), WORDING);
}

#[test]
fn blank_text_is_refused() {
    for blank in ["", " ", "\n\t", "\u{200b}"] {
        const WORDING: &str = "The text field in the ContentBlock object at messages.0.content.1 is blank. Add text to the text field, and try again.";
        assert_violation([user([text("a"), text(blank)])], Place::Content(0, 1), WORDING);
    }
    let blank = result_of("c", ToolResultStatus::Error, [ToolResultContentBlock::Text(" ".into())]);
    const IN_RESULT: &str = "The text field in the ToolResultContentBlock object at messages.2.content.0.toolResult.content.0 is blank. Add text to the text field, and try again.";
    let messages = [user([text("a")]), assistant([call("c")]), user([blank])];
    assert_violation(messages, Place::Content(2, 0), IN_RESULT);

    let mut input = input(valid());
    input.system.as_mut().unwrap().push(SystemContentBlock::Text(" ".into()));
    const IN_SYSTEM: &str = "The text field in the SystemContentBlock object at system.1 is blank. Add text to the text field, and try again.";
    assert_violations(&input, [(Place::System(1), IN_SYSTEM)]);
}

#[test]
fn next_user_message_must_answer_each_call() {
    const WORDING: &str = "Expected toolResult blocks at messages.2.content for the following Ids: a, c";
    let messages =
        [user([text("x")]), assistant([call("a"), call("b"), call("c")]), user([result("b"), text("hello?")])];
    assert_violation(messages, Place::Message(2), WORDING);

    const AT_THE_END: &str = "Expected toolResult blocks at messages.2.content for the following Ids: a";
    let unanswered = input([user([text("x")]), assistant([call("a")])]);
    let violations = validate_for(&unanswered, &Profile::default());
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].to_string(), AT_THE_END);

    const OF_ANOTHER: &str = "Expected toolResult blocks at messages.2.content for the following Ids: a";
    let messages = [user([text("x")]), assistant([call("a")]), user([result("b")])];
    assert_violation(messages, Place::Message(2), OF_ANOTHER);

    let by_itself = input([user([text("x")]), assistant([call("a")]), assistant([result("a")]), user([text("y")])]);
    let wordings: Vec<_> = validate_for(&by_itself, &Profile::claude()).iter().map(Violation::to_string).collect();
    assert_eq!(wordings.len(), 2);
    assert!(wordings[0].starts_with("A conversation must alternate") && wordings[1] == AT_THE_END, "{wordings:?}");

    let late = [
        user([text("x")]),
        assistant([call("a")]),
        user([text("hello?")]),
        assistant([text("sorry")]),
        user([result("a")]),
    ];
    const SURPLUS: &str =
        "The number of toolResult blocks at messages.4.content exceeds the number of toolUse blocks of previous turn.";
    assert_violations(&input(late), [(Place::Message(2), AT_THE_END), (Place::Message(4), SURPLUS)]);
}

#[test]
fn more_results_than_calls_are_refused() {
    const WORDING: &str =
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.";
    let messages = [user([text("x")]), assistant([call("a")]), user([result("a"), result("b")])];
    assert_violation(messages, Place::Message(2), WORDING);
    const FIRST: &str =
        "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks of previous turn.";
    assert_violation([user([result("a")])], Place::Message(0), FIRST);
}

#[test]
fn duplicate_tool_use_ids_are_refused() {
    const CALLS: &str = "The toolUse blocks at messages.1.content contain duplicate Ids: a";
    let messages = [user([text("x")]), assistant([call("a"), call("b"), call("a")]), user([result("a"), result("b")])];
    assert_violation(messages, Place::Message(1), CALLS);

    const RESULTS: &str = "The toolResult blocks at messages.2.content contain duplicate Ids: a";
    const UNANSWERED: &str = "Expected toolResult blocks at messages.2.content for the following Ids: b";
    let messages = [user([text("x")]), assistant([call("a"), call("b")]), user([result("a"), result("a")])];
    assert_violations(&input(messages), [(Place::Message(2), UNANSWERED), (Place::Message(2), RESULTS)]);

    const ACROSS: &str = "The model returned the following errors: messages.3.content.1: `tool_use` ids must be unique";
    let messages = [
        user([text("x")]),
        assistant([call("a")]),
        user([result("a")]),
        assistant([text("and"), call("a")]),
        user([result("a")]),
    ];
    assert_violation(messages, Place::Content(3, 1), ACROSS);
}

#[test]
fn some_models_require_results_first() {
    const WORDING: &str = "The model returned the following errors: messages.2: Did not find 2 `tool_result` block(s) at the beginning of this message. Messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks.";
    let messages = || {
        let answers = user([result("a"), text("hello?"), result("b")]);
        [user([text("x")]), assistant([call("a"), call("b")]), answers]
    };
    assert_violation(messages(), Place::Message(2), WORDING);
    assert_eq!(validate_for(&input(messages()), &Profile::default()), []);
}

#[test]
fn tool_blocks_require_tools() {
    const WORDING: &str = "The toolConfig field must be defined when using toolUse and toolResult content blocks.";
    let mut input = input(valid());
    input.tool_config = None;
    assert_violations(&input, [(Place::Content(1, 1), WORDING)]);
    input.tool_config = Some(ToolConfiguration::builder().set_tools(Some(Vec::new())).build().unwrap());
    assert_violations(&input, [(Place::Content(1, 1), WORDING)]);
    input.messages = Some(vec![user([text("no tools needed")])]);
    assert_violations(&input, []);
}

#[test]
fn empty_tool_error_is_refused() {
    const WORDING: &str =
        "The content field at messages.2.content.0.toolResult cannot be empty when status value is error.";
    let messages = [user([text("x")]), assistant([call("a")]), user([result_of("a", ToolResultStatus::Error, [])])];
    assert_violation(messages, Place::Content(2, 0), WORDING);
}

#[test]
fn json_that_is_not_an_object_is_refused() {
    const INPUT: &str = "The format of the value at messages.1.content.0.toolUse.input is invalid. Provide a json object for the field and try again.";
    let messages = [user([text("x")]), assistant([named_call("a", "get_user", Document::Null)]), user([result("a")])];
    assert_violation(messages, Place::Content(1, 0), INPUT);

    const RESULT: &str = "The format of the value at messages.2.content.0.toolResult.content.1.json is invalid. Provide a json object for the field and try again.";
    let contents = [ToolResultContentBlock::Json(object()), ToolResultContentBlock::Json(Document::Array(Vec::new()))];
    let answer = result_of("a", ToolResultStatus::Success, contents);
    let messages = [user([text("x")]), assistant([call("a")]), user([answer])];
    assert_violation(messages, Place::Content(2, 0), RESULT);
}

#[test]
fn invalid_tool_ids_and_names_are_refused() {
    for (bad, constraint) in [
        ("", "have length greater than or equal to 1"),
        (&"x".repeat(65), "have length less than or equal to 64"),
        ("my pin is 4711", "satisfy regular expression pattern: [a-zA-Z0-9_-]+"),
        ("é", "satisfy regular expression pattern: [a-zA-Z0-9_-]+"),
    ] {
        let wording = |path| {
            format!(
                "1 validation error detected: Value at '{path}' failed to satisfy constraint: Member must {constraint}"
            )
        };
        let of_id = |path| wording(path).replace("9_-]", "9_.:-]");
        let messages = [user([text("x")]), assistant([text("y"), call(bad)]), user([result(bad)])];
        let call_id = of_id("messages.2.member.content.2.member.toolUse.toolUseId");
        let result_id = of_id("messages.3.member.content.1.member.toolResult.toolUseId");
        assert_violations(&input(messages), [(Place::Content(1, 1), &call_id), (Place::Content(2, 0), &result_id)]);

        let messages = [user([text("x")]), assistant([named_call("a", bad, object())]), user([result("a")])];
        let name = wording("messages.2.member.content.1.member.toolUse.name");
        assert_violation(messages, Place::Content(1, 0), &name);

        let mut input = input(valid());
        input.tool_config.as_mut().unwrap().tools.push(tool(bad));
        let tool = wording("toolConfig.tools.2.member.toolSpec.name");
        assert_violations(&input, [(Place::Tool(1), &tool)]);
    }
}

#[test]
fn invalid_id_is_hidden_in_the_wording() {
    let messages = [user([text("x")]), assistant([call("my pin is 4711"), call("my pin is 4711")]), user([text("y")])];
    let wordings: String =
        validate_for(&input(messages), &Profile::claude()).iter().map(Violation::to_string).collect();
    assert!(wordings.contains("Ids: (not an id)") && !wordings.contains("4711"), "{wordings}");
}

#[test]
fn image_count_and_size_are_limited() {
    const TOO_MANY: &str = "The model returned the following errors: too many images and documents: 21 + 0 > 20";
    let images = |count| std::iter::repeat_with(image).take(count);
    assert_violations(&input([user(images(20))]), []);
    let messages = [user(images(11)), assistant([text("more?")]), user(images(10))];
    assert_violation(messages, Place::Content(2, 9), TOO_MANY);
    let mut profile = Profile::claude();
    (profile.max_images, profile.max_attachments) = (21, 21);
    assert_eq!(validate_for(&input([user(images(21))]), &profile), []);

    const TOO_LARGE: &str = "The model returned the following errors: messages.0.content.0.image.source.bytes: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes";
    let large = || image_block(3_932_161);
    assert_violation([user([ContentBlock::Image(large())])], Place::Content(0, 0), TOO_LARGE);
    const IN_RESULT: &str = "The model returned the following errors: messages.2.content.0.toolResult.content.0.image.source.bytes: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes";
    let answer = result_of("a", ToolResultStatus::Success, [ToolResultContentBlock::Image(large())]);
    let messages = [user([text("x")]), assistant([call("a")]), user([answer])];
    assert_violation(messages, Place::Content(2, 0), IN_RESULT);
}

#[test]
fn document_count_and_size_are_limited() {
    const TOO_MANY: &str = "You can't include more than 5 documents in a request.";
    let documents = |names: std::ops::Range<usize>| names.map(|name| document(&name.to_string())).chain([text("x")]);
    assert_violations(&input([user(documents(0..5))]), []);
    let messages = [user(documents(0..3)), assistant([text("more?")]), user(documents(3..6))];
    assert_violation(messages, Place::Content(2, 2), TOO_MANY);

    const TOO_LARGE: &str =
        "The maximum document size is 4.5 MB. Reduce the size of your document and retry your request.";
    let large = ContentBlock::Document(document_block("large", 4_718_593));
    assert_violation([user([text("x"), large])], Place::Content(0, 1), TOO_LARGE);
}

#[test]
fn invalid_document_names_are_refused() {
    const FORM: &str = "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character. Check that the file name conforms to these restrictions and retry your request.";
    for name in ["cv.pdf", "a  b", "a\tb", "a\u{3000}b", "résumé", "a_b"] {
        assert_violation([user([text("x"), document(name)])], Place::Content(0, 1), FORM);
    }
    for (name, bound) in [(String::new(), "greater than or equal to 1"), ("n".repeat(201), "less than or equal to 200")]
    {
        let wording = format!(
            "1 validation error detected: Value at 'messages.1.member.content.2.member.document.name' failed to satisfy constraint: Member must have length {bound}"
        );
        assert_violation([user([text("x"), document(&name)])], Place::Content(0, 1), &wording);
    }
    const IN_RESULT: &str = "1 validation error detected: Value at 'messages.3.member.content.1.member.toolResult.content.1.member.document.name' failed to satisfy constraint: Member must have length greater than or equal to 1";
    let nameless = ToolResultContentBlock::Document(document_block("", 1));
    let answer = result_of("a", ToolResultStatus::Success, [nameless]);
    let messages = [user([text("x")]), assistant([call("a")]), user([answer])];
    assert_violation(messages, Place::Content(2, 0), IN_RESULT);
}

#[test]
fn duplicate_document_names_are_refused() {
    const WORDING: &str =
        "Messages can't contain duplicate document names. Rename the document and retry your request.";
    let again = ToolResultContentBlock::Document(document_block("report", 1));
    let messages = [
        user([text("x"), document("report")]),
        assistant([call("a")]),
        user([result_of("a", ToolResultStatus::Success, [again])]),
    ];
    assert_violation(messages, Place::Content(2, 0), WORDING);
}

#[test]
fn document_requires_a_text_beside_it() {
    const WORDING: &str = "A text block must be included when using documents.";
    let messages = [user([text("a")]), assistant([text("b")]), user([image(), document("report")])];
    assert_violation(messages, Place::Content(2, 1), WORDING);
}

#[test]
fn attachments_of_the_assistant_are_refused() {
    let video = || ContentBlock::Video(VideoBlock::builder().format(VideoFormat::Mp4).build().unwrap());
    for (block, kind) in [(image(), "image"), (document("report"), "document"), (video(), "video")] {
        let wording = format!(
            "The model returned the following errors: messages.1.content: '{kind}' blocks are not permitted within assistant turns."
        );
        let messages = [user([image(), text("a")]), assistant([text("b"), block]), user([text("c")])];
        assert_violation(messages, Place::Content(1, 1), &wording);
    }
}

#[test]
fn some_models_refuse_videos_and_s3_locations() {
    let location = S3Location::builder().uri("s3://b/k").build().unwrap();
    let video = VideoBlock::builder().format(VideoFormat::Mp4).source(VideoSource::S3Location(location.clone()));
    let source = DocumentSource::S3Location(location.clone());
    let document = DocumentBlock::builder().format(DocumentFormat::Pdf).name("report").source(source).build().unwrap();
    let image = ImageBlock::builder().format(ImageFormat::Png).source(ImageSource::S3Location(location)).build();
    let nested = [ToolResultContentBlock::Text("a".into()), ToolResultContentBlock::Image(image.unwrap())];
    let input = input([
        user([ContentBlock::Video(video.build().unwrap()), text("a")]),
        assistant([call("call_1")]),
        user([result_of("call_1", ToolResultStatus::Success, nested), ContentBlock::Document(document), text("b")]),
    ]);
    assert_violations(
        &input,
        [
            (
                Place::Content(0, 0),
                "This model doesn't support the video content block that you provided. Update the content block and try \
                 again.",
            ),
            (
                Place::Content(2, 0),
                "The model returned the following errors: messages.2.content.0.toolResult.content.1.image.source.type: \
                 Field required",
            ),
            (
                Place::Content(2, 1),
                "The model returned the following errors: messages.2.content.1.document.source.type: Field required",
            ),
        ],
    );
    assert_eq!(validate_for(&input, &Profile::for_model("eu.amazon.nova-lite-v1:0")), []);
}

#[test]
fn cache_point_count_is_limited() {
    const WORDING: &str =
        "The model returned the following errors: A maximum of 4 blocks with cache_control may be provided. Found 5.";
    let mut input = input(valid());
    input.tool_config.as_mut().unwrap().tools.push(Tool::CachePoint(cache_point()));
    input.system.as_mut().unwrap().push(SystemContentBlock::CachePoint(cache_point()));
    input.messages.as_mut().unwrap()[0].content.push(ContentBlock::CachePoint(cache_point()));
    assert_violations(&input, []);
    input.system.as_mut().unwrap().push(SystemContentBlock::CachePoint(cache_point()));
    assert_violations(&input, [(Place::Content(2, 3), WORDING)]);
}
