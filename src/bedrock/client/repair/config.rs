//! Repairs the tools of a request, their schemas, and the inference settings.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{Tool, ToolInputSchema};

use super::Repairs;
use crate::bedrock::profile::Profile;
use crate::bedrock::schema;
use crate::bedrock::validate::{Place, accepts_choice};

pub(super) fn repair(input: &mut ConverseInput, profile: &Profile, repairs: &mut Repairs) {
    remove_duplicates(input, repairs);
    fit_schemas(input, profile, repairs);
    if let Some(config) = &mut input.tool_config
        && config.tool_choice.take_if(|choice| !accepts_choice(choice, profile)).is_some()
    {
        repairs.add("toolConfig.toolChoice", "removed the choice of tools, which the model refuses");
    }
    if let Some(config) = &mut input.inference_config
        && !profile.temperature_and_top_p
        && config.temperature.is_some()
        && config.top_p.take().is_some()
    {
        repairs.add(Place::Inference, "removed `topP`, because the model refuses it beside a temperature");
    }
}

/// Keeps the first of several tools with one name.
fn remove_duplicates(input: &mut ConverseInput, repairs: &mut Repairs) {
    let Some(config) = &mut input.tool_config else { return };
    let mut names = HashSet::new();
    let tools = config.tools.len();
    config.tools.retain(|tool| !matches!(tool, Tool::ToolSpec(spec) if !names.insert(spec.name.clone())));
    if config.tools.len() < tools {
        repairs.add("toolConfig.tools", "removed tools with the name of another tool");
    }
}

/// Fits the schemas of the tools to the model, and reports constraints that are lost.
fn fit_schemas(input: &mut ConverseInput, profile: &Profile, repairs: &mut Repairs) {
    for (t, tool) in input.tool_config.iter_mut().flat_map(|config| &mut config.tools).enumerate() {
        if let Tool::ToolSpec(spec) = tool
            && let Some(ToolInputSchema::Json(schema)) = &mut spec.input_schema
        {
            let lost = schema::fit(schema, profile);
            if !lost.is_empty() {
                let what = format_args!(
                    "the model ignores `{}` at the top of the schema, which it refuses; check the arguments in the tool",
                    lost.join("`, `")
                );
                repairs.add(Place::Tool(t), what);
            }
        }
    }
}
