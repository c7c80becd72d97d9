//! Typed answers: [`Prompt::prompt_for`].
//!
//! Owns the instructions that ask for JSON, and the reading of the answer. The reasons for the rules in `answer.md` and
//! `repair.md`:
//!
//! - One JSON value that matches the schema: the schema comes in the prompt, because Converse has no field for it
//!   without a tool.
//! - Begin with the first character of the JSON value and end with its last: models tend to add explanations and code
//!   fences. The reader accepts a code fence anyway.
//! - Null for an unknown value: models invent values for fields that they must fill.
//! - The reason of a misfit follows `repair.md`: with the place and the kind of the error, the second answer usually
//!   fits.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::error::{ConversationError, Problem};
use super::prompt::Prompt;
use crate::model::schema_of;

const ANSWER: &str = include_str!("answer.md");
const REPAIR: &str = include_str!("repair.md");

impl Prompt {
    /// Applies the prompt, runs the conversation, and reads the final text as a `T`.
    ///
    /// The model gets the JSON Schema of `T`, with the doc comments of its fields. If an answer does not fit, the model
    /// is asked once more and gets the reason. The schema, both answers and the reason stay in the conversation.
    ///
    /// Returns [`NoAnswer`](super::ConversationErrorKind::NoAnswer) if the second answer does not fit either, and the
    /// errors of [`prompt`](Self::prompt).
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
    /// # let bedrock = FakeBedrock::default();
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
    pub async fn prompt_for<T: DeserializeOwned + JsonSchema>(&self) -> Result<T, ConversationError> {
        let schema = schema_of::<T>().to_value();
        let answer = self.context(format!("{ANSWER}\n{schema}")).prompt().await?;
        let misfit = match read(&answer) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let repair = self.conversation().continuation().request(format!("{REPAIR}\nThe reason: {misfit}"));
        read(&repair.prompt().await?).map_err(|error| Problem::from(&error).into())
    }
}

/// Reads an answer, with or without a code fence.
fn read<T: DeserializeOwned>(answer: &str) -> Result<T, serde_json::Error> {
    let answer = answer.trim();
    let fenced = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let json = fenced.map_or(answer, |fenced| fenced.strip_prefix("json").unwrap_or(fenced));
    serde_json::from_str(json)
}
