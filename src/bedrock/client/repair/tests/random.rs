//! Repairs of random requests.

use aws_sdk_bedrockruntime::types::{S3Location, VideoBlock, VideoFormat};

use super::*;
use crate::bedrock::identifier::Characters;
use crate::bedrock::profile::Schemas;

fn image_in_s3() -> ImageBlock {
    let source = ImageSource::S3Location(S3Location::builder().uri("s3://b/k").build().unwrap());
    ImageBlock::builder().format(ImageFormat::Png).source(source).build().unwrap()
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[abc]",
        1 => Just("my pin is 4711".to_owned()),
        1 => Just("functions.pin:4711".to_owned()),
        1 => Just(String::new()),
    ]
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \u{200b}".to_owned()),
        Just("[tool call: x]".to_owned()),
        Just("x \n".to_owned()),
        ".{1,5}"
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("report".to_owned()),
        Just("Report".to_owned()),
        Just(String::new()),
        ".{0,5}",
        Just("n".repeat(201))
    ]
}

fn json_value() -> impl Strategy<Value = Document> {
    prop_oneof![Just(object()), Just(Document::Null), Just(Document::from("x")), Just(Document::Array(vec![]))]
}

fn part() -> impl Strategy<Value = ToolResultContentBlock> {
    prop_oneof![
        words().prop_map(ToolResultContentBlock::Text),
        json_value().prop_map(ToolResultContentBlock::Json),
        (0..6usize).prop_map(|bytes| ToolResultContentBlock::Image(image_of(bytes))),
        Just(ToolResultContentBlock::Image(image_in_s3())),
        (name(), 0..6usize).prop_map(|(name, bytes)| ToolResultContentBlock::Document(document_of(&name, bytes))),
    ]
}

fn block() -> impl Strategy<Value = ContentBlock> {
    let status = prop_oneof![Just(ToolResultStatus::Success), Just(ToolResultStatus::Error)];
    let tool_name = prop_oneof![6 => Just("get_user".to_owned()), 1 => Just("no name".to_owned())];
    prop_oneof![
        3 => words().prop_map(ContentBlock::Text),
        3 => (id(), tool_name, json_value()).prop_map(|(id, name, input)| call_of(&id, &name, input)),
        3 => (id(), status, vec(part(), 0..3)).prop_map(|(id, status, parts)| result_of(&id, status, parts)),
        1 => (0..6usize).prop_map(|bytes| ContentBlock::Image(image_of(bytes))),
        1 => (name(), 0..6usize).prop_map(|(name, bytes)| ContentBlock::Document(document_of(&name, bytes))),
        1 => Just(ContentBlock::Image(image_in_s3())),
        1 => Just(ContentBlock::Video(VideoBlock::builder().format(VideoFormat::Mp4).build().unwrap())),
        1 => Just(ContentBlock::CachePoint(cache_point())),
    ]
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let role = prop_oneof![Just(ConversationRole::User), Just(ConversationRole::Assistant)];
    vec((role, vec(block(), 0..5)).prop_map(|(role, content)| message(role, content)), 0..7)
}

fn profile() -> impl Strategy<Value = Profile> {
    let places =
        prop_oneof![Just(CachePlaces::Nowhere), Just(CachePlaces::SystemAndTexts), Just(CachePlaces::Everywhere)];
    let schemas = prop_oneof![Just(Schemas::Any), Just(Schemas::PlainTop), Just(Schemas::BasicTop)];
    let ids = prop_oneof![Just(Characters::Narrow), Just(Characters::Wide)];
    let kinds = (places, schemas, ids);
    (any::<[bool; 10]>(), kinds, 0..4usize, 0..3usize).prop_map(|(flags, kinds, points, attachments)| {
        let mut profile = small();
        [
            profile.tool_calls_last,
            profile.result_status,
            profile.result_images,
            profile.supports_images,
            profile.must_end_with_user,
            profile.last_text_trimmed,
            profile.tool_results_first,
            profile.text_beside_tools,
            profile.supports_videos,
            profile.supports_s3,
        ] = flags;
        (profile.cache_points, profile.schemas, profile.ids) = kinds;
        profile.max_cache_points = points;
        profile.max_images = attachments;
        profile.max_documents = attachments;
        profile.max_attachments = attachments + 1;
        profile
    })
}

/// Returns the texts that are not blank.
fn texts(messages: &[Message]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let texts = blocks.filter_map(|block| block.as_text().ok()).filter(|text| !is_blank(text));
    texts.map(|text| text.replace("\\[", "[").trim_end().to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn repaired_request_is_valid_and_keeps_all_texts(messages in messages(), profile in profile(), tools: bool) {
        let before = texts(&messages);
        let mut input = input(messages);
        input.system = Some(vec![SystemContentBlock::Text(" ".into()), SystemContentBlock::CachePoint(cache_point())]);
        if !tools {
            input.tool_config = None;
        }
        let was_valid = validate_for(&input, &profile).is_empty();
        let repairs = repair_for(&mut input, &profile);
        prop_assert_eq!(validate_for(&input, &profile), []);
        prop_assert!(!was_valid || repairs.is_empty());
        let after = texts(input.messages());
        for text in before {
            prop_assert!(after.contains(&text), "{:?} is lost", text);
        }
        for repair in repairs {
            prop_assert!(!repair.to_string().contains("4711"));
        }
    }
}
