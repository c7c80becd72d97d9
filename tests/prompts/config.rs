//! What a prompt says about the configuration: which model is asked, and errors that name the key.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use verbale::Value;
use verbale::conversation::{Config, ConfigError, Models, Prompt, PromptError};
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

/// The model that is asked.
async fn asked(bedrock: &FakeBedrock, prompt: &Prompt) -> String {
    prompt.request("Hello?").prompt().await.unwrap();
    bedrock.take_requests()[0].model_id().to_owned()
}

fn refused(prompt: &Prompt) -> (ConfigError, String) {
    let before = format!("{:?}", prompt.conversation());
    let Err(PromptError::Config(error)) = prompt.request("Hello?").apply() else { panic!("it is applied") };
    assert_eq!(format!("{:?}", prompt.conversation()), before);
    let key = error.key().to_owned();
    assert!(error.to_string().contains(&key), "{error}");
    (error, key)
}

#[tokio::test]
async fn a_model_is_chosen_by_its_names() {
    let bedrock = FakeBedrock::new();
    let llm = llm(&bedrock);
    assert_eq!(asked(&bedrock, &llm).await, NOVA);
    assert_eq!(asked(&bedrock, &llm.provider("anthropic")).await, HAIKU);
    // Of the present provider first, and what was said stays.
    assert_eq!(asked(&bedrock, &llm.model("haiku")).await, HAIKU);
    assert_eq!(asked(&bedrock, &llm).await, HAIKU);
    // The model stays where the provider has one of that name; else it is the provider's first.
    assert_eq!(asked(&bedrock, &llm.provider("elsewhere")).await, ELSEWHERE);
    assert_eq!(asked(&bedrock, &llm.provider("amazon")).await, NOVA);
    // A model of another provider brings it.
    assert_eq!(asked(&bedrock, &llm.model("sonnet")).await, super::CLAUDE);
    assert_eq!(asked(&bedrock, &llm.provider("anthropic").model("haiku").model("haiku")).await, HAIKU);
    let config = llm.conversation().config();
    assert_eq!((config.provider(), config.model()), (Some("anthropic"), Some("haiku")));
}

#[tokio::test]
async fn configuration_comes_as_data_too() {
    let bedrock = FakeBedrock::new();
    let llm = llm(&bedrock);
    let settings = BTreeMap::from([
        ("provider".to_owned(), Value::from("elsewhere")),
        ("model".to_owned(), Value::from("haiku")),
        ("first_token_timeout_ms".to_owned(), Value::from(1_500)),
        ("tool_timeout_ms".to_owned(), Value::from(2_500)),
        ("max_tool_rounds".to_owned(), Value::from(0)),
    ]);
    assert_eq!(asked(&bedrock, &llm.configure(&settings)).await, ELSEWHERE);
    let config = llm.conversation().config();
    assert_eq!((config.provider(), config.model(), config.max_tool_rounds()), (Some("elsewhere"), Some("haiku"), 0));
    let ms = Duration::from_millis;
    assert_eq!((config.first_token_timeout(), config.tool_timeout()), (Some(ms(1_500)), ms(2_500)));
    // What is said once as data and once typed is the same thing.
    llm.first_token_timeout(Duration::from_secs(3)).set("first_token_timeout_ms", 3_000).apply().unwrap();
}

#[test]
fn a_model_that_is_registered_again_keeps_its_place() {
    let bedrock = FakeBedrock::new();
    let models = Models::default().with("amazon", "nova", model(&bedrock, NOVA)).with(
        "anthropic",
        "haiku",
        model(&bedrock, HAIKU),
    );
    let again = models.clone().with("amazon", "nova", model(&bedrock, NOVA));
    assert_eq!(format!("{again:?}"), format!("{models:?}"));
}

#[test]
fn errors_name_the_key() {
    let llm = llm(&FakeBedrock::new());
    let wrong = |key, expected| ConfigError::WrongValue { key, expected };
    let name = "a name, as a string";
    let wait = "a whole number of milliseconds, from 1";
    let rounds = "a whole number from 0 to 4,294,967,295";
    let not_of =
        |model: &str, provider: &str| ConfigError::NotOfProvider { model: model.into(), provider: provider.into() };
    for (prompt, error, key) in [
        (llm.set("heat", 1), ConfigError::UnknownKey { key: "heat".into() }, "heat"),
        (llm.set("temperature", 2), wrong("temperature", "a number from 0 to 1"), "temperature"),
        (llm.set("stop_sequences", "x"), wrong("stop_sequences", "a list of strings"), "stop_sequences"),
        (llm.set("top_p", 1).set("top_p", 0), ConfigError::Contradiction { key: "top_p" }, "top_p"),
        (llm.set("tools", "get_weather"), ConfigError::UnknownKey { key: "tools".into() }, "tools"),
        (llm.set("model", 4), wrong("model", name), "model"),
        (llm.set("provider", Value::Null), wrong("provider", name), "provider"),
        (llm.set("first_token_timeout_ms", "1"), wrong("first_token_timeout_ms", wait), "first_token_timeout_ms"),
        (llm.set("tool_timeout_ms", -1), wrong("tool_timeout_ms", wait), "tool_timeout_ms"),
        (llm.set("tool_timeout_ms", Value::try_from(0.5).unwrap()), wrong("tool_timeout_ms", wait), "tool_timeout_ms"),
        (llm.set("max_tool_rounds", 1_u64 << 32), wrong("max_tool_rounds", rounds), "max_tool_rounds"),
        (
            llm.first_token_timeout(Duration::ZERO),
            wrong("first_token_timeout_ms", "more than no time at all"),
            "first_token_timeout_ms",
        ),
        (llm.set("tool_timeout_ms", 0), wrong("tool_timeout_ms", "more than no time at all"), "tool_timeout_ms"),
        (llm.provider("nobody"), ConfigError::UnknownProvider { provider: "nobody".into() }, "provider"),
        (llm.model("none"), ConfigError::UnknownModel { model: "none".into() }, "model"),
        (llm.model("haiku"), ConfigError::AmbiguousModel { model: "haiku".into() }, "model"),
        (llm.provider("amazon").model("haiku"), not_of("haiku", "amazon"), "model"),
        (llm.model("nova").model("sonnet"), ConfigError::Contradiction { key: "model" }, "model"),
        (
            llm.provider("amazon").set("provider", "anthropic"),
            ConfigError::Contradiction { key: "provider" },
            "provider",
        ),
        (
            llm.max_tool_rounds(1).max_tool_rounds(2),
            ConfigError::Contradiction { key: "max_tool_rounds" },
            "max_tool_rounds",
        ),
    ] {
        assert_eq!(refused(&prompt), (error, key.to_owned()));
    }
    let Err(unknown) = llm.set("sys\u{1b}tem", 1).apply() else { panic!("it is applied") };
    assert_eq!(
        unknown.to_string(),
        "there is no configuration key \"sys\\u{1b}tem\"; the keys are provider, model, first_token_timeout_ms, \
         event_timeout_ms, turn_timeout_ms, tool_timeout_ms, max_tool_rounds, temperature, top_p, max_tokens, stop_sequences, \
         model_fields"
    );
}

#[test]
fn two_tools_of_one_name_contradict_each_other_in_one_prompt_only() {
    #[derive(Deserialize, JsonSchema)]
    struct Place {
        #[expect(dead_code, reason = "read by nobody")]
        place: String,
    }
    let other = || Tool::new("get_weather", "The weather of today.", |_: Place, _| async { Ok("?") }).unwrap();
    let llm = llm(&FakeBedrock::new());
    let (error, key) = refused(&llm.tools([weather(), other()]));
    assert_eq!((error, key.as_str()), (ConfigError::TwoTools { name: weather().spec().name.clone() }, "tools"));
    llm.tools([weather(), weather()]).apply().unwrap();
    let ring = Tool::new("ring", "Rings.", |_: Place, _| async { Ok(()) }).unwrap();
    llm.tools([ring, other()]).apply().unwrap();
    let config = llm.conversation().config();
    let tools: Vec<_> = config.tools().iter().map(|tool| tool.spec().clone()).collect();
    assert_eq!((tools.len(), &tools[0]), (2, other().spec()));
}

#[test]
fn a_conversation_has_the_configuration_that_it_is_given() {
    let bedrock = FakeBedrock::new();
    let config = Config::new(super::models(&bedrock));
    assert_eq!((config.provider(), config.model(), config.tools().len()), (None, None, 0));
    let conversation = llm(&bedrock).conversation().clone().with_config(config);
    assert_eq!(refused(&conversation.continuation().model("nova")).1, "model");
    conversation.continuation().model("sonnet").apply().unwrap();
    let nobody = conversation.with_config(Config::default());
    assert_eq!(refused(&nobody.continuation().model("sonnet")).0, ConfigError::NoModel);
}
