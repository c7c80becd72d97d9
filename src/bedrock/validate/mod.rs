//! [`validate()`]: checks a request against Bedrock's rules.
//!
//! The SDK does not check any of them. [`Profile`] holds the differences between models.

mod attachments;
mod cache;
mod inference;
mod tools;
mod turns;

use std::fmt;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, Message};

#[cfg(test)]
use super::profile;
use super::profile::Profile;

pub(super) use attachments::{Attached, attached, attached_part, document_bytes, image_bytes, longest_side};
pub(super) use cache::allows_cache_point_after;
pub(super) use tools::{accepts_choice, refused_keys};

/// Returns the rules that a request breaks, in the order in which Bedrock checks them. Sends nothing.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
/// use verbale::bedrock::{ConverseRequest, Profile, validate};
///
/// let silence =
///     Message::builder().role(ConversationRole::User).content(ContentBlock::Text(" ".into())).build()?;
/// let input = ConverseRequest::new("eu.amazon.nova-lite-v1:0").messages(vec![silence]).into_input()?;
///
/// let violations = validate(&input, &Profile::default());
/// assert_eq!(violations.len(), 1);
/// assert_eq!(violations[0].rule(), "text-blank");
/// assert_eq!(violations[0].place(), "messages.0.content.0");
/// assert_eq!(
///     violations[0].to_string(),
///     "The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try \
///      again."
/// );
/// # Ok(()) }
/// ```
pub fn validate(input: &ConverseInput, profile: &Profile) -> Vec<Violation> {
    let mut violations = Violations::default();
    turns::check(input, profile, &mut violations);
    tools::check(input, profile, &mut violations);
    attachments::check(input.messages(), profile, &mut violations);
    cache::check(input, profile, &mut violations);
    inference::check(input, profile, &mut violations);
    violations.0
}

/// A rule of Bedrock that a request breaks.
///
/// `Display` writes Bedrock's wording. It contains ids of tool calls, but no words of the call.
///
/// The rules come from AWS's machine-readable model of the service, from the pages of
/// [`Message`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html),
/// [`ToolUseBlock`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html) and
/// [`DocumentBlock`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html), and from
/// requests that Bedrock refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    rule: &'static str,
    place: Place,
    wording: String,
}

impl Violation {
    /// Returns the name of the rule, such as `tool-calls-last`, which stays the same for all models and places.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// Returns the path to the place of the violation, such as `messages.0.content.1`. Indices count from 0.
    pub fn place(&self) -> String {
        self.place.to_string()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.wording)
    }
}

impl std::error::Error for Violation {}

/// A place in a request. Indices count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Request,
    /// A block of `system`.
    System(usize),
    /// A message, or the index after the last one if a message is missing.
    Message(usize),
    /// The index of a message, and the index of a content in it.
    Content(usize, usize),
    /// A tool of `toolConfig`.
    Tool(usize),
    /// `inferenceConfig`.
    Inference,
    /// `requestMetadata`.
    Metadata,
}

/// The path, as in Bedrock's messages.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("messages"),
            Self::System(block) => write!(f, "system.{block}"),
            Self::Message(message) => write!(f, "messages.{message}"),
            Self::Content(message, content) => write!(f, "messages.{message}.content.{content}"),
            Self::Tool(tool) => write!(f, "toolConfig.tools.{tool}"),
            Self::Inference => f.write_str("inferenceConfig"),
            Self::Metadata => f.write_str("requestMetadata"),
        }
    }
}

impl Place {
    /// The path in errors of the service's own model, which counts from 1.
    fn counted_from_1(self) -> String {
        let path = self.to_string();
        let parts = path.split('.').map(|part| match part.parse::<usize>() {
            Ok(index) => format!("{}.member", index + 1),
            Err(_) => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join(".")
    }
}

#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, rule: &'static str, place: Place, wording: impl Into<String>) {
        let wording = wording.into();
        #[cfg(test)]
        assert!(
            profile::refusals().any(|refusal| refusal.rule == rule && wording.contains(refusal.part)),
            "no refusal is {rule}: {wording}"
        );
        self.0.push(Violation { rule, place, wording });
    }

    /// Adds a violation of the service's own model, such as the length of a member.
    fn add_constraint(&mut self, rule: &'static str, place: Place, member: &str, constraint: &str) {
        let path = place.counted_from_1();
        self.add(
            rule,
            place,
            format!(
                "1 validation error detected: Value at '{path}.{member}' failed to satisfy constraint: Member must {constraint}"
            ),
        );
    }
}

/// Iterates over all contents of all messages, with their indices.
fn contents(messages: &[Message]) -> impl Iterator<Item = (usize, usize, &ContentBlock)> {
    messages
        .iter()
        .enumerate()
        .flat_map(|(m, message)| message.content.iter().enumerate().map(move |(c, block)| (m, c, block)))
}

#[cfg(test)]
mod tests;
