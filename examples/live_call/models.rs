//! [`Models`]: the two ways to a model, at AWS and in this process. All in front of the client is the same.

use aws_config::SdkConfig;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::{Builder, ProvideCredentials};
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::memory::ModelSummarizer;
use verbale::testing::FakeBedrock;

use crate::error::CallError;
use crate::pace::Pace;
use crate::script;

/// Who replies, and who summarises.
pub struct Models {
    pub turns: BedrockModel,
    pub summaries: ModelSummarizer<BedrockModel>,
    /// The Bedrock in this process, where it is that.
    pub bedrock: Option<FakeBedrock>,
}

/// What is spoken is short.
const MAX_TOKENS: u32 = 300;

impl Models {
    /// A Bedrock in this process, which answers as it was written.
    pub fn scripted(pace: &Pace) -> Self {
        let pace = pace.clone();
        let bedrock = FakeBedrock::answering(move |request| script::answer(request, &pace));
        let model = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
        let models = Self::of(turn_client(bedrock.sdk_config()), summary_client(bedrock.sdk_config()), model);
        Self { bedrock: Some(bedrock), ..models }
    }

    /// Amazon Bedrock, with what was found of the user's credentials and region.
    ///
    /// Errors: there are none. That is told before the call, in which it would be but an apology.
    pub async fn at_aws(environment: &SdkConfig, model: &str) -> Result<Self, CallError> {
        if environment.region().is_none() {
            return Err(CallError::NoRegion);
        }
        let provider =
            environment.credentials_provider().ok_or_else(|| CallError::NoCredentials("none is set".into()))?;
        provider.provide_credentials().await.map_err(|error| CallError::NoCredentials(error.into()))?;
        Ok(Self::of(turn_client(Builder::from(environment)), summary_client(Builder::from(environment)), model))
    }

    fn of(turns: Builder, summaries: Builder, model: &str) -> Self {
        let settings = BedrockSettings::new(model).with_max_tokens(MAX_TOKENS);
        let summaries = BedrockModel::for_summaries(Client::from_conf(summaries.build()), BedrockSettings::new(model));
        Self {
            turns: BedrockModel::for_turns(Client::from_conf(turns.build()), settings),
            summaries: ModelSummarizer::new(summaries),
            bedrock: None,
        }
    }
}
