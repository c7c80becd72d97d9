//! [`Models`]: the model at AWS, or a script in this process. Only the client differs.

use aws_config::SdkConfig;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::Builder;
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::call::CallBuilder;
use verbale::memory::ModelSummarizer;
use verbale::model::Inference;
use verbale::testing::FakeBedrock;

use super::error::RelayError;
use super::script;

/// The clients for replies and for summaries. All calls share their connections.
pub struct Models {
    turns: Client,
    summaries: Client,
    model: String,
}

/// The token limit of a reply. Spoken replies are short.
const MAX_TOKENS: u32 = 300;

impl Models {
    /// Returns models on a fake Bedrock that follows the script.
    pub fn scripted() -> Self {
        let bedrock = FakeBedrock::answering(script::answer);
        let model = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
        Self::of(turn_client(bedrock.sdk_config()), summary_client(bedrock.sdk_config()), model)
    }

    /// Returns models on Amazon Bedrock.
    pub fn at_aws(environment: &SdkConfig, model: &str) -> Result<Self, RelayError> {
        if environment.region().is_none() {
            return Err(RelayError::NoRegion);
        }
        Ok(Self::of(turn_client(Builder::from(environment)), summary_client(Builder::from(environment)), model))
    }

    fn of(turns: Builder, summaries: Builder, model: &str) -> Self {
        let (turns, summaries) = (Client::from_conf(turns.build()), Client::from_conf(summaries.build()));
        Self { turns, summaries, model: model.to_owned() }
    }

    /// Returns a builder for a call with these models.
    pub fn call(&self) -> CallBuilder {
        let settings = BedrockSettings::new(&self.model);
        let summaries = BedrockModel::for_summaries(self.summaries.clone(), settings.clone());
        CallBuilder::new(BedrockModel::for_turns(
            self.turns.clone(),
            settings.with_inference(Inference { max_tokens: Some(MAX_TOKENS), ..Inference::default() }),
        ))
        .summarizer(ModelSummarizer::new(summaries))
    }
}
