//! Each family of models refuses requests in its words, and takes them once they are repaired.

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::error::ProvideErrorMetadata;
use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    AnyToolChoice, ContentBlock, ConversationRole, GuardrailStreamConfiguration, ImageBlock, ImageFormat, ImageSource,
    InferenceConfiguration, Message, PerformanceConfigLatency, ServiceTierType, SpecificToolChoice, Tool, ToolChoice,
    ToolConfiguration, ToolInputSchema, ToolResultBlock, ToolResultContentBlock, ToolResultStatus, ToolSpecification,
    ToolUseBlock,
};
use serde_json::{Value as Json, json};
use verbale::bedrock::{BedrockSettings, repair, validate};
use verbale::model::ModelEvent;
use verbale::testing::FakeBedrock;

use super::document::document;
use super::{CLAUDE, LLAMA, NOVA, ask, for_summaries, for_turns, question, tool};

const MISTRAL: &str = "mistral.mistral-large-2407-v1:0";
const PALMYRA: &str = "us.writer.palmyra-x5-v1:0";
const ASTRA: &str = "global.openai.gpt-6-astra";
/// An application inference profile. Its model is not known.
const ANY: &str = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc";
const ALL: [&str; 7] = [CLAUDE, NOVA, LLAMA, MISTRAL, PALMYRA, ASTRA, ANY];

fn user(content: impl IntoIterator<Item = ContentBlock>) -> Message {
    message(ConversationRole::User, content)
}

fn assistant(content: impl IntoIterator<Item = ContentBlock>) -> Message {
    message(ConversationRole::Assistant, content)
}

fn message(role: ConversationRole, content: impl IntoIterator<Item = ContentBlock>) -> Message {
    Message::builder().role(role).set_content(Some(content.into_iter().collect())).build().unwrap()
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.into())
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolUse(
        ToolUseBlock::builder().tool_use_id(id).name("get_parcel").input(document(json!({}))).build().unwrap(),
    )
}

fn result(id: &str, status: Option<ToolResultStatus>, part: ToolResultContentBlock) -> ContentBlock {
    let result = ToolResultBlock::builder().tool_use_id(id).set_status(status).content(part).build();
    ContentBlock::ToolResult(result.unwrap())
}

fn plain_result(id: &str) -> ContentBlock {
    result(id, None, ToolResultContentBlock::Text("On Friday.".into()))
}

/// A PNG of this height and width, without its pixels.
fn png(side: u32) -> ImageBlock {
    let side = side.to_be_bytes();
    let bytes = [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(), &side, &side].concat();
    ImageBlock::builder().format(ImageFormat::Png).source(ImageSource::Bytes(Blob::new(bytes))).build().unwrap()
}

fn config(schema: Json, choice: Option<ToolChoice>) -> ToolConfiguration {
    let schema = ToolInputSchema::Json(document(schema));
    let spec = ToolSpecification::builder().name("get_parcel").input_schema(schema).build().unwrap();
    ToolConfiguration::builder().tools(Tool::ToolSpec(spec)).set_tool_choice(choice).build().unwrap()
}

fn any_schema() -> Json {
    json!({"type": "object", "properties": {"id": {"type": "integer"}}})
}

struct Case {
    name: &'static str,
    messages: Vec<Message>,
    tools: Option<ToolConfiguration>,
    inference: Option<InferenceConfiguration>,
    /// The models that refuse the request, with a part of their words.
    refused: Vec<(&'static str, &'static str)>,
}

fn case(name: &'static str, messages: Vec<Message>, refused: &[(&'static str, &'static str)]) -> Case {
    let tools = Some(config(any_schema(), None));
    Case { name, messages, tools, inference: None, refused: refused.to_vec() }
}

fn hello() -> Vec<Message> {
    vec![user([text("Hello?")])]
}

fn cases() -> Vec<Case> {
    let around = |calls: Vec<ContentBlock>, results: Vec<ContentBlock>| {
        vec![user([text("Hello?")]), assistant(calls), user(results)]
    };
    let error = |part| result("a", Some(ToolResultStatus::Error), part);
    let no_text = "Conversation blocks and tool use blocks cannot be provided in the same turn.";
    let any = ToolChoice::Any(AnyToolChoice::builder().build());
    let this = ToolChoice::Tool(SpecificToolChoice::builder().name("get_parcel").build().unwrap());
    let referring = json!({
        "type": "object",
        "properties": {"parcel": {"$ref": "#/$defs/Parcel"}},
        "$defs": {"Parcel": {"type": "string"}},
    });
    let either = json!({"type": "object", "properties": {}, "anyOf": [{"required": ["id"]}]});
    let no_choice = |kind: &str| match kind {
        "any" => "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any",
        _ => "This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool",
    };
    let both = InferenceConfiguration::builder().temperature(0.5).top_p(0.5).build();
    vec![
        case("plain", hello(), &[]),
        case("a call and its result", around(vec![call("a")], vec![plain_result("a")]), &[]),
        case(
            "text after a call",
            around(vec![call("a"), text("One moment.")], vec![plain_result("a")]),
            &[
                (CLAUDE, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a."),
                (LLAMA, no_text),
                (MISTRAL, no_text),
            ],
        ),
        case(
            "text before a call",
            around(vec![text("One moment."), call("a")], vec![plain_result("a")]),
            &[(LLAMA, no_text), (MISTRAL, no_text)],
        ),
        case(
            "an id with a colon",
            around(vec![call("functions.get_parcel:0")], vec![plain_result("functions.get_parcel:0")]),
            &[(CLAUDE, "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")],
        ),
        case(
            "an id with a space",
            around(vec![call("a b")], vec![plain_result("a b")]),
            &ALL.map(|model| {
                (
                    model,
                    "'messages.2.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must \
                     satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
                )
            }),
        ),
        case(
            "a status",
            around(vec![call("a")], vec![error(ToolResultContentBlock::Text("no answer".into()))]),
            &[PALMYRA, ASTRA].map(|model| (model, "This model doesn't support the status field. Remove status")),
        ),
        case(
            "an image in a result",
            around(vec![call("a")], vec![result("a", None, ToolResultContentBlock::Image(png(9)))]),
            &[MISTRAL, PALMYRA, ASTRA]
                .map(|model| (model, "This model doesn't support the image field for user messages")),
        ),
        case(
            "an image",
            vec![user([text("This one?"), ContentBlock::Image(png(8_000))])],
            &[MISTRAL, PALMYRA].map(|model| (model, "This model doesn't support the image content block")),
        ),
        case(
            "a large image",
            vec![user([text("This one?"), ContentBlock::Image(png(8_001))])],
            &ALL.map(|model| match model {
                MISTRAL | PALMYRA => (model, "This model doesn't support the image content block"),
                _ => (model, "At least one of the image dimensions exceed max allowed size: 8000 pixels"),
            }),
        ),
        case(
            "the assistant speaks last",
            vec![user([text("Hello?")]), assistant([text("It is")])],
            &[(CLAUDE, "This model does not support assistant message prefill.")],
        ),
        Case {
            tools: Some(config(referring, None)),
            ..case(
                "a schema with definitions",
                hello(),
                &[(NOVA, "#/toolConfig/tools/0/toolSpec/inputSchema/json: extraneous key [$defs] is not permitted")],
            )
        },
        Case {
            tools: Some(config(either, None)),
            ..case(
                "a schema with alternatives",
                hello(),
                &[
                    (CLAUDE, "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf"),
                    (NOVA, "extraneous key [anyOf] is not permitted"),
                ],
            )
        },
        Case {
            tools: Some(config(any_schema(), Some(any))),
            ..case("any tool", hello(), &[(LLAMA, no_choice("any"))])
        },
        Case {
            tools: Some(config(any_schema(), Some(this))),
            ..case("this tool", hello(), &[(LLAMA, no_choice("tool")), (MISTRAL, no_choice("tool"))])
        },
        Case {
            inference: Some(both),
            ..case("two samplers", hello(), &[(CLAUDE, "`temperature` and `top_p` cannot both be specified")])
        },
        Case {
            tools: None,
            ..case(
                "calls without tools",
                around(vec![call("a")], vec![plain_result("a")]),
                &ALL.map(|model| (model, "The toolConfig field must be defined when using toolUse and toolResult")),
            )
        },
    ]
}

#[tokio::test]
async fn each_family_refuses_in_its_words_and_takes_the_repaired_request() {
    let bedrock = FakeBedrock::default();
    let client = Client::from_conf(bedrock.sdk_config().build());
    for Case { name, messages, tools, inference, refused } in cases() {
        for model_id in ALL {
            let mut input = ConverseInput::builder()
                .model_id(model_id)
                .set_messages(Some(messages.clone()))
                .set_tool_config(tools.clone())
                .set_inference_config(inference.clone())
                .build()
                .unwrap();
            let words = refused.iter().find(|(model, _)| *model == model_id).map(|(_, words)| *words);
            for is_repaired in [false, true] {
                if is_repaired {
                    let repairs = repair(&mut input);
                    assert!(words.is_none() || !repairs.is_empty() || name == "a schema with definitions", "{name}");
                    assert_eq!(validate(&input), [], "{name} {model_id}");
                }
                let sent = client
                    .converse()
                    .model_id(model_id)
                    .set_messages(input.messages.clone())
                    .set_tool_config(input.tool_config.clone())
                    .set_inference_config(input.inference_config.clone())
                    .send()
                    .await;
                match (sent, words.filter(|_| !is_repaired)) {
                    (Ok(_), None) => {}
                    (Err(error), Some(words)) => {
                        let message = error.message().unwrap_or_default();
                        assert!(message.contains(words), "{name} {model_id}: {message}");
                    }
                    (sent, words) => panic!("{name} {model_id} {is_repaired}: {words:?} {:?}", sent.err()),
                }
            }
        }
    }
}

#[tokio::test]
async fn models_without_tools_in_streams_refuse_them() {
    let bedrock = FakeBedrock::default();
    let client = Client::from_conf(bedrock.sdk_config().build());
    for model_id in ALL {
        let request = client.converse_stream().model_id(model_id).set_messages(Some(hello()));
        let sent = request.tool_config(config(any_schema(), None)).send().await;
        let words = sent.err().map(|error| error.message().unwrap_or_default().to_owned());
        let expected = matches!(model_id, LLAMA | MISTRAL | PALMYRA)
            .then(|| "This model doesn't support tool use in streaming mode.".to_owned());
        assert_eq!(words, expected, "{model_id}");
    }
}

#[tokio::test]
async fn options_of_bedrock_are_sent() {
    let bedrock = FakeBedrock::default();
    let guardrail = GuardrailStreamConfiguration::builder().guardrail_identifier("gr1a2b3c").guardrail_version("4");
    let settings = BedrockSettings::new(CLAUDE)
        .with_guardrail(guardrail.build())
        .with_service_tier(ServiceTierType::Priority)
        .with_latency(PerformanceConfigLatency::Optimized)
        .with_tool_choice(ToolChoice::Any(AnyToolChoice::builder().build()))
        .with_request_metadata([("tenant", "bank-7"), ("call", "17")]);
    for model in [for_turns(&bedrock, settings.clone()), for_summaries(&bedrock, settings)] {
        let mut request = question();
        request.tools = [tool("get_parcel")].into();
        ask(&model, request).await.unwrap();
        let body: Json = serde_json::from_slice(bedrock.requests().last().unwrap().body()).unwrap();
        assert_eq!(body["guardrailConfig"]["guardrailIdentifier"], "gr1a2b3c");
        assert_eq!(body["guardrailConfig"]["guardrailVersion"], "4");
        assert_eq!(body["serviceTier"], json!({"type": "priority"}));
        assert_eq!(body["performanceConfig"], json!({"latency": "optimized"}));
        assert_eq!(body["toolConfig"]["toolChoice"], json!({"any": {}}));
        assert_eq!(body["requestMetadata"], json!({"call": "17", "tenant": "bank-7"}));
    }
    let long = BedrockSettings::new(CLAUDE).with_request_metadata([("é", "")]);
    let (_, error) = ask(&for_turns(&bedrock, long), question()).await.unwrap_err();
    assert!(error.to_string().contains("requestMetadata"), "{error}");
}

#[tokio::test]
async fn forced_tool_choice_ends_with_the_result() {
    let bedrock = FakeBedrock::default();
    let choice = ToolChoice::Any(AnyToolChoice::builder().build());
    let model = for_turns(&bedrock, BedrockSettings::new(CLAUDE).with_tool_choice(choice));
    let mut manager = verbale::MessagesManager::<verbale::PlainMessage>::new();
    manager.add_user("When does it arrive?").unwrap();
    let call = verbale::ToolCall::new("a", "get_parcel", json!({})).unwrap();
    manager.add_assistant(call.clone()).unwrap();
    manager.add_user(call.success("On Friday.")).unwrap();
    let mut request = super::window(&manager);
    request.tools = [tool("get_parcel")].into();
    request.inference.temperature = Some(0.1);
    let events = ask(&model, request).await.unwrap();
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::Repaired(_))), "{events:?}");
    assert_eq!(bedrock.requests()[0].input().tool_config().unwrap().tool_choice(), None);
}
