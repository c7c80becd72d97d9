//! [`Models`]: the model at AWS, or a fake in this process. Only the client differs.

use aws_config::SdkConfig;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::{Builder, ProvideCredentials};
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::memory::ModelSummarizer;
use verbale::model::Inference;
use verbale::testing::FakeBedrock;

use crate::error::CallError;
use crate::pace::Pace;
use crate::script;

/// The models for replies and for summaries.
pub struct Models {
    pub turns: BedrockModel,
    pub summaries: ModelSummarizer<BedrockModel>,
    /// The fake Bedrock, if there is one.
    pub bedrock: Option<FakeBedrock>,
}

/// The token limit of a reply. Spoken replies are short.
const MAX_TOKENS: u32 = 300;

impl Models {
    /// Returns models on a fake Bedrock that follows the script.
    pub fn scripted(pace: &Pace) -> Self {
        let pace = pace.clone();
        let bedrock = FakeBedrock::answering(move |request| script::answer(request, &pace));
        let model = "eu.anthropic.claude-haiku-4-5-20251001-v1:0";
        let models = Self::of(turn_client(bedrock.sdk_config()), summary_client(bedrock.sdk_config()), model);
        Self { bedrock: Some(bedrock), ..models }
    }

    /// Returns models on Amazon Bedrock, with the credentials and region of the user.
    ///
    /// Returns an error if credentials or region are missing. During the call, the caller would only hear an apology.
    pub async fn at_aws(environment: &SdkConfig, model: &str) -> Result<Self, CallError> {
        if environment.region().is_none() {
            return Err(CallError::NoRegion);
        }
        let provider =
            environment.credentials_provider().ok_or_else(|| CallError::NoCredentials("none are set".into()))?;
        provider.provide_credentials().await.map_err(|error| CallError::NoCredentials(error.into()))?;
        Ok(Self::of(turn_client(Builder::from(environment)), summary_client(Builder::from(environment)), model))
    }

    fn of(turns: Builder, summaries: Builder, model: &str) -> Self {
        let settings = BedrockSettings::new(model)
            .with_inference(Inference { max_tokens: Some(MAX_TOKENS), ..Inference::default() });
        let summaries = BedrockModel::for_summaries(Client::from_conf(summaries.build()), BedrockSettings::new(model));
        Self {
            turns: BedrockModel::for_turns(Client::from_conf(turns.build()), settings),
            summaries: ModelSummarizer::new(summaries),
            bedrock: None,
        }
    }
}
