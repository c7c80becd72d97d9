//! Rules of some models, and rules about tools.

use super::*;

#[test]
fn cache_points_are_refused_in_other_places() {
    const NOWHERE: &str = "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more information.";
    let nova = Profile::for_model("eu.amazon.nova-lite-v1:0");
    let after_text = input(valid());
    assert_eq!(validate_for(&after_text, &nova), []);
    let [unknown] = &validate_for(&after_text, &Profile::default())[..] else { panic!() };
    assert_eq!((unknown.rule, unknown.place), ("cache-point", Place::Content(2, 3)));
    assert_eq!(unknown.to_string(), NOWHERE);

    let mut elsewhere = input(valid());
    elsewhere.tool_config.as_mut().unwrap().tools.push(Tool::CachePoint(cache_point()));
    elsewhere.messages.as_mut().unwrap()[4].content.push(ContentBlock::CachePoint(cache_point()));
    assert_eq!(validate_for(&elsewhere, &Profile::claude()), []);
    let wordings: Vec<_> = validate_for(&elsewhere, &nova).iter().map(Violation::to_string).collect();
    let wording = |pointer: &str| {
        format!(
            "The model returned the following errors: Malformed input request: {pointer}: extraneous key [cachePoint] is not permitted, please reformat your input and try again."
        )
    };
    assert_eq!(wordings, [wording("#/toolConfig/tools/1"), wording("#/messages/4/content/1")]);
}

#[test]
fn duplicate_tool_names_and_other_schemas_are_refused() {
    const NAMES: &str = "The model returned the following errors: tools: Tool names must be unique.";
    const SCHEMA: &str =
        "The value at toolConfig.tools.2.toolSpec.inputSchema.json.type must be one of the following: object.";
    let mut input = input(valid());
    let tools = &mut input.tool_config.as_mut().unwrap().tools;
    tools.push(tool("get_user"));
    let spec = ToolSpecification::builder().name("get_card").input_schema(ToolInputSchema::Json(object()));
    tools.push(Tool::ToolSpec(spec.build().unwrap()));
    assert_violations(&input, [(Place::Tool(1), NAMES), (Place::Tool(2), SCHEMA)]);
}

#[test]
fn some_models_refuse_texts_beside_tool_blocks() {
    let wording = |m: usize, kind: &str| {
        format!("messages.{m}.content: Conversation blocks and tool {kind} blocks cannot be provided in the same turn.")
    };
    let apart = Profile { text_beside_tools: false, ..Profile::default() };
    let messages = [user([text("x")]), assistant([text("y"), call("a")]), user([result("a"), text("z")])];
    let wordings: Vec<_> = validate_for(&input(messages), &apart).iter().map(Violation::to_string).collect();
    assert_eq!(wordings, [wording(1, "use"), wording(2, "result")]);
    let messages = [user([text("x")]), assistant([call("a")]), user([result("a")])];
    assert_eq!(validate_for(&input(messages), &apart), []);
}

#[test]
fn some_models_refuse_trailing_white_space() {
    const WORDING: &str = "The model returned the following errors: messages: final assistant content cannot end with trailing whitespace";
    let older = Profile::for_model("anthropic.claude-haiku-4-5-20251001-v1:0");
    let ending_with = |words| input([user([text("x ")]), assistant([text("y "), text(words)])]);
    let [violation] = &validate_for(&ending_with("Yes, "), &older)[..] else { panic!() };
    assert_eq!((violation.rule, violation.place), ("text-trailing-space", Place::Content(1, 1)));
    assert_eq!(violation.to_string(), WORDING);
    assert_eq!(validate_for(&ending_with("Yes,"), &older), []);
    assert_eq!(validate_for(&ending_with("Yes, "), &Profile::default()), []);
}
