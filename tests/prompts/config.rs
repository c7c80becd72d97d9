//! The settings of a prompt: the choice of a model, and errors that name the key.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use verbale::Value;
use verbale::conversation::{Config, ConversationErrorKind, Models, Prompt};
use verbale::model::Tool;
use verbale::testing::FakeBedrock;

use super::model;
use super::tools::weather;

const NOVA: &str = "eu.amazon.nova-lite-v1:0";
const HAIKU: &str = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
const ELSEWHERE: &str = "us.anthropic.claude-haiku-4-5-20251001-v1:0";

fn llm(bedrock: &FakeBedrock) -> Prompt {
    let models = Models::default()
        .with("amazon", "nova", model(bedrock, NOVA))
        .with("anthropic", "haiku", model(bedrock, HAIKU))
        .with("elsewhere", "haiku", model(bedrock, ELSEWHERE))
        .with("elsewhere", "sonnet", model(bedrock, super::CLAUDE));
    Prompt::new(models)
}

/// Returns the id of the model that gets a request.
async fn asked(bedrock: &FakeBedrock, prompt: &Prompt) -> String {
    prompt.request("Hello?").prompt().await.unwrap();
    bedrock.take_requests()[0].input().model_id().unwrap().to_owned()
}

/// Asserts that the prompt is refused and changes nothing. Returns the key of the error and its text.
fn refused(prompt: &Prompt) -> (String, String) {
    let before = format!("{:?}", prompt.conversation());
    let error = prompt.request("Hello?").apply().unwrap_err();
    assert_eq!(error.kind(), ConversationErrorKind::Refused);
    assert_eq!(format!("{:?}", prompt.conversation()), before);
    // The key is the first name in the text.
    let text = error.to_string();
    (text.split(['`', '"']).nth(1).unwrap().to_owned(), text)
}

#[tokio::test]
async fn model_is_chosen_by_provider_and_name() {
    let bedrock = FakeBedrock::default();
    let llm = llm(&bedrock);
    assert_eq!(asked(&bedrock, &llm).await, NOVA);
    assert_eq!(asked(&bedrock, &llm.provider("anthropic")).await, HAIKU);
    // A name selects a model of the current provider first, and the choice stays.
    assert_eq!(asked(&bedrock, &llm.model("haiku")).await, HAIKU);
    assert_eq!(asked(&bedrock, &llm).await, HAIKU);
    // A provider keeps the model if it has one of that name; otherwise its first model is chosen.
    assert_eq!(asked(&bedrock, &llm.provider("elsewhere")).await, ELSEWHERE);
    assert_eq!(asked(&bedrock, &llm.provider("amazon")).await, NOVA);
    // A model of another provider also chooses that provider.
    assert_eq!(asked(&bedrock, &llm.model("sonnet")).await, super::CLAUDE);
    assert_eq!(asked(&bedrock, &llm.provider("anthropic").model("haiku").model("haiku")).await, HAIKU);
    let config = llm.conversation().config();
    assert_eq!(config.model(), Some(("anthropic", "haiku")));
}

#[tokio::test]
async fn settings_can_come_as_data() {
    let bedrock = FakeBedrock::default();
    let llm = llm(&bedrock);
    let prompt = llm.set("provider", "elsewhere").set("model", "haiku").set("first_token_timeout_ms", 1_500);
    let prompt = prompt.set("tool_timeout_ms", 2_500).set("max_tool_rounds", 0);
    assert_eq!(asked(&bedrock, &prompt).await, ELSEWHERE);
    let config = llm.conversation().config();
    assert_eq!(config.model(), Some(("elsewhere", "haiku")));
    let shown = format!("{config:?}");
    for expected in ["first_token_timeout: Some(1.5s)", "tool_timeout: Some(2.5s)", "max_tool_rounds: Some(0)"] {
        assert!(shown.contains(expected), "{shown} lacks {expected}");
    }
    // The same value once typed and once as data is no contradiction.
    let typed = llm.config(|config| config.with_first_token_timeout(Duration::from_secs(3)));
    typed.set("first_token_timeout_ms", 3_000).apply().unwrap();
}

#[tokio::test]
async fn prompt_withdraws_tools() {
    let bedrock = FakeBedrock::default();
    let llm = llm(&bedrock).tool(weather());
    let withdrawn = |prompt: &Prompt| prompt.config(|config| config.without_tool(&"get_weather".parse().unwrap()));
    let offers = async |prompt: &Prompt| {
        prompt.request("Hello?").prompt().await.unwrap();
        bedrock.take_requests()[0].input().tool_config().is_some()
    };
    // One of an earlier prompt, one that the same prompt added before, and none that it adds afterwards.
    assert!(offers(&llm).await);
    assert!(!offers(&withdrawn(&llm.conversation().continuation())).await);
    assert!(!offers(&withdrawn(&llm)).await);
    assert!(offers(&withdrawn(&llm.conversation().continuation()).tool(weather())).await);
}

#[test]
fn model_that_is_registered_again_keeps_its_position() {
    let bedrock = FakeBedrock::default();
    let models = Models::default().with("amazon", "nova", model(&bedrock, NOVA)).with(
        "anthropic",
        "haiku",
        model(&bedrock, HAIKU),
    );
    let again = models.clone().with("amazon", "nova", model(&bedrock, NOVA));
    assert_eq!(format!("{again:?}"), format!("{models:?}"));
}

#[test]
fn errors_name_the_key_and_the_remedy() {
    let llm = llm(&FakeBedrock::default());
    let zero = llm.config(|config| config.with_first_token_timeout(Duration::ZERO));
    let rounds = |rounds| llm.config(move |config| config.with_max_tool_rounds(rounds));
    let both_rounds = rounds(1).config(|config| config.with_max_tool_rounds(2));
    let prompts = [
        llm.set("heat", 1),
        llm.set("tools", "get_weather"),
        llm.set("temperature", 2),
        llm.set("stop_sequences", "x"),
        llm.set("model", 4),
        llm.set("provider", Value::Null),
        llm.set("first_token_timeout_ms", "1"),
        llm.set("tool_timeout_ms", -1),
        llm.set("tool_timeout_ms", Value::try_from(0.5).unwrap()),
        llm.set("tool_timeout_ms", 0),
        zero,
        llm.set("max_tool_rounds", 1_u64 << 32),
        llm.set("top_p", 1).set("top_p", 0),
        llm.model("nova").model("sonnet"),
        llm.provider("amazon").set("provider", "anthropic"),
        both_rounds,
        llm.provider("nobody"),
        llm.model("none"),
        llm.model("haiku"),
        llm.provider("amazon").model("haiku"),
    ];
    let errors = prompts.iter().map(refused).map(|(key, error)| format!("{key}: {error}"));
    let errors = errors.map(|error| error.split("; the keys are").next().unwrap().to_owned());
    insta::assert_snapshot!(errors.collect::<Vec<_>>().join("\n"), @r#"
    heat: the prompt sets an unknown configuration key "heat"
    tools: the prompt sets an unknown configuration key "tools"
    temperature: the prompt sets `temperature` to an invalid value; set it to a number from 0 to 1
    stop_sequences: the prompt sets `stop_sequences` to an invalid value; set it to a list of strings
    model: the prompt sets `model` to an invalid value; set it to a name, as a string
    provider: the prompt sets `provider` to an invalid value; set it to a name, as a string
    first_token_timeout_ms: the prompt sets `first_token_timeout_ms` to an invalid value; set it to a whole number of milliseconds, from 1
    tool_timeout_ms: the prompt sets `tool_timeout_ms` to an invalid value; set it to a whole number of milliseconds, from 1
    tool_timeout_ms: the prompt sets `tool_timeout_ms` to an invalid value; set it to a whole number of milliseconds, from 1
    tool_timeout_ms: the prompt sets `tool_timeout_ms` to an invalid value; set it to a time above zero
    first_token_timeout_ms: the prompt sets `first_token_timeout_ms` to an invalid value; set it to a time above zero
    max_tool_rounds: the prompt sets `max_tool_rounds` to an invalid value; set it to a whole number from 0 to 4,294,967,295
    top_p: the prompt sets `top_p` twice, to different values; leave one of them out
    model: the prompt sets `model` twice, to different values; leave one of them out
    provider: the prompt sets `provider` twice, to different values; leave one of them out
    max_tool_rounds: the prompt sets `max_tool_rounds` twice, to different values; leave one of them out
    provider: `provider`: no provider "nobody" is registered; register its models with `Models::with`
    model: `model`: no model "none" is registered; register it with `Models::with`
    model: `model`: several providers have a model "haiku"; choose one with `provider`
    model: `model`: the provider "amazon" has no model "haiku"; choose one of its models, or another provider
    "#);
    let unknown = llm.set("sys\u{1b}tem", 1).apply().unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "the prompt sets an unknown configuration key \"sys\\u{1b}tem\"; the keys are provider, model, \
         first_token_timeout_ms, event_timeout_ms, turn_timeout_ms, tool_timeout_ms, max_tool_rounds, temperature, top_p, \
         max_tokens, stop_sequences, model_fields"
    );
}

#[test]
fn two_tools_of_one_name_are_refused_in_one_prompt_only() {
    #[derive(Deserialize, JsonSchema)]
    struct Place {
        #[expect(dead_code, reason = "only its schema is used")]
        place: String,
    }
    let other = || Tool::new("get_weather", "The weather of today.", |_: Place, _| async { Ok("?") }).unwrap();
    let llm = llm(&FakeBedrock::default());
    let (key, error) = refused(&llm.tool(weather()).tool(other()));
    assert_eq!(key, "tools");
    assert_eq!(
        error,
        "`tools`: the prompt has two tools named `get_weather` with different descriptions or schemas; rename one"
    );
    llm.tool(weather()).tool(weather()).apply().unwrap();
    let ring = Tool::new("ring", "Rings.", |_: Place, _| async { Ok(()) }).unwrap();
    llm.tool(ring).tool(other()).apply().unwrap();
    let config = llm.conversation().config();
    let tools: Vec<_> = config.tools().iter().map(|tool| tool.spec().clone()).collect();
    assert_eq!((tools.len(), &tools[0]), (2, other().spec()));
}

#[test]
fn new_configuration_replaces_the_old_one() {
    let bedrock = FakeBedrock::default();
    let config = Config::new(super::models(&bedrock));
    assert_eq!((config.model(), config.tools().len()), (None, 0));
    let conversation = llm(&bedrock).conversation().clone().with_config(config);
    assert_eq!(refused(&conversation.continuation().model("nova")).0, "model");
    conversation.continuation().model("sonnet").apply().unwrap();
    let nobody = conversation.with_config(Config::default());
    let (_, error) = refused(&nobody.continuation().model("sonnet"));
    assert_eq!(error, "`model`: the conversation has no models; add some with `with_config(Config::new(models))`");
}
