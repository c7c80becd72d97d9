//! [`validate()`]: whether Bedrock would take a request, told in its own words.
//!
//! The SDK checks none of this. Owns the rules; [`Profile`] holds what differs between models.

mod attachments;
mod cache;
mod inference;
mod profile;
mod rule;
mod tools;
mod turns;

use std::fmt;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, Message};

pub use profile::{CachePlaces, Profile};
pub use rule::Rule;

pub(super) use attachments::{Attached, attached, attached_part, document_bytes, image_bytes};
pub(super) use cache::is_taken_behind;
pub(super) use tools::is_identifier;

/// What Bedrock would refuse in a request, in the order in which it looks; nothing where it would take the request.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message};
/// use verbale::bedrock::{ConverseRequest, Place, Profile, Rule, validate};
///
/// let silence =
///     Message::builder().role(ConversationRole::User).content(ContentBlock::Text(" ".into())).build()?;
/// let input = ConverseRequest::new("eu.amazon.nova-lite-v1:0").messages(vec![silence]).into_input()?;
///
/// let violations = validate(&input, &Profile::default());
/// assert_eq!(violations.len(), 1);
/// assert_eq!((violations[0].rule(), violations[0].place()), (Rule::TextNotBlank, Place::Content(0, 0)));
/// assert_eq!(
///     violations[0].to_string(),
///     "The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try \
///      again."
/// );
/// # Ok(()) }
/// ```
pub fn validate(input: &ConverseInput, profile: &Profile) -> Vec<Violation> {
    let mut violations = Violations(Vec::new());
    turns::check(input, profile, &mut violations);
    tools::check(input, profile, &mut violations);
    attachments::check(input.messages(), profile, &mut violations);
    cache::check(input, profile, &mut violations);
    if let Some(config) = input.inference_config() {
        inference::check(config, &mut violations);
    }
    violations.0
}

/// One thing that Bedrock would refuse. `Display` words it as Bedrock does, without anything that was said; the ids of
/// tool calls are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    rule: Rule,
    place: Place,
    wording: String,
}

impl Violation {
    /// The rule that is broken.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Where it is broken.
    pub fn place(&self) -> Place {
        self.place
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.wording)
    }
}

impl std::error::Error for Violation {}

/// A place in a request. Indices count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// The request as a whole.
    Request,
    /// A block of `system`.
    System(usize),
    /// A message; the one behind the last, where one is missing.
    Message(usize),
    /// A content of a message: the index of the message, and that of the content in it.
    Content(usize, usize),
    /// A tool of `toolConfig`.
    Tool(usize),
    /// The inference settings, `inferenceConfig`.
    Inference,
}

/// The path as Bedrock writes it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("messages"),
            Self::System(block) => write!(f, "system.{block}"),
            Self::Message(message) => write!(f, "messages.{message}"),
            Self::Content(message, content) => write!(f, "messages.{message}.content.{content}"),
            Self::Tool(tool) => write!(f, "toolConfig.tools.{tool}"),
            Self::Inference => f.write_str("inferenceConfig"),
        }
    }
}

impl Place {
    /// The path as the service writes it where it checks the members of its model.
    fn counted_from_1(self) -> String {
        match self {
            Self::Request | Self::Inference => self.to_string(),
            Self::System(block) => format!("system.{}.member", block + 1),
            Self::Message(message) => format!("messages.{}.member", message + 1),
            Self::Content(message, content) => {
                format!("messages.{}.member.content.{}.member", message + 1, content + 1)
            }
            Self::Tool(tool) => format!("toolConfig.tools.{}.member", tool + 1),
        }
    }
}

struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, rule: Rule, place: Place, wording: impl Into<String>) {
        self.0.push(Violation { rule, place, wording: wording.into() });
    }

    /// What the service says to a member of a block that does not fit its model.
    fn add_constraint(&mut self, rule: Rule, place: Place, member: &str, constraint: &str) {
        let wording = format!(
            "1 validation error detected: Value at '{}.{member}' failed to satisfy constraint: Member must {constraint}",
            place.counted_from_1()
        );
        self.add(rule, place, wording);
    }
}

/// All contents of all messages.
fn contents(messages: &[Message]) -> impl Iterator<Item = (usize, usize, &ContentBlock)> {
    messages
        .iter()
        .enumerate()
        .flat_map(|(m, message)| message.content.iter().enumerate().map(move |(c, block)| (m, c, block)))
}

#[cfg(test)]
mod tests;
