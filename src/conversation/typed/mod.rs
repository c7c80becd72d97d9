//! Typed answers: [`Prompt::prompt_for`].
//!
//! Owns what the model is asked beside the prompt, and how its answer is read. `answer.md` asks for JSON alone, because
//! models add explanations and code fences otherwise; `repair.md` repeats that after an answer that does not fit.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::error::{AskError, Misfit};
use super::prompt::Prompt;
use crate::model::schema_of;

const ANSWER: &str = include_str!("answer.md");
const REPAIR: &str = include_str!("repair.md");

impl Prompt {
    /// Applies the prompt, runs the conversation, and reads the final text as a `T`.
    ///
    /// The model gets the JSON Schema of `T`, with the comments on its fields. An answer that does not fit is sent back once,
    /// with the reason. The schema, the answers and the repair are in the conversation.
    ///
    /// Returns [`AskError::Misfit`] if the second answer does not fit either; otherwise errors are those of
    /// [`prompt`](Self::prompt).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use aws_sdk_bedrockruntime::Client;
    /// # use verbale::testing::{ScriptedReply, FakeBedrock};
    /// # use verbale::bedrock::{BedrockModel, BedrockSettings, turn_client};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use verbale::conversation::{Models, Prompt};
    /// # let bedrock = FakeBedrock::new();
    /// # bedrock.reply(ScriptedReply::text(r#"{"intent": "complaint", "is_urgent": true}"#));
    /// # let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
    /// # let haiku = BedrockModel::for_turns(client, BedrockSettings::new("eu.anthropic.claude-haiku-4-5"));
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Outcome {
    ///     /// Why the caller called, in one word.
    ///     intent: String,
    ///     is_urgent: bool,
    /// }
    /// let llm = Prompt::new(Models::default().with("anthropic", "haiku", haiku));
    /// let outcome: Outcome = llm.request("The parcel is broken, send somebody now!").prompt_for().await?;
    /// assert_eq!((outcome.intent.as_str(), outcome.is_urgent), ("complaint", true));
    /// # Ok(()) }
    /// ```
    pub async fn prompt_for<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, AskError> {
        let schema = schema_of::<T>().to_value();
        let answer = self.context(format!("{ANSWER}\n{schema}")).prompt().await?;
        let misfit = match read(&answer) {
            Ok(read) => return Ok(read),
            Err(error) => error,
        };
        let repair = self.conversation().continuation().request(format!("{REPAIR}\nThe reason: {misfit}"));
        read(&repair.prompt().await?).map_err(|error| AskError::Misfit(Misfit::new(&error)))
    }
}

/// Reads an answer, within a code fence too.
fn read<T: DeserializeOwned>(answer: &str) -> Result<T, serde_json::Error> {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let json = fenced.map_or(answer, |fenced| fenced.strip_prefix("json").unwrap_or(fenced));
    serde_json::from_str(json)
}
