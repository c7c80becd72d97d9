//! [`Refused`]: a request that Bedrock refused, and the form in which it is sent once more.

use std::collections::HashSet;

use super::response::known;
use crate::bedrock::document::{document_json, to_document};
use crate::bedrock::profile::{Remedy, refusals};
use crate::message::{Content, ResultContent, Value};
use crate::model::ModelRequest;

/// The maximum length of a redacted message, in characters.
const MAX_MESSAGE: usize = 400;
/// The number of consecutive words that are hidden if the conversation has them too.
const RUN: usize = 3;

/// A request that Bedrock refused as invalid, with Bedrock's message, which may quote the request.
pub(super) struct Refused(pub(super) String);

impl Refused {
    /// Returns the form in which the request may be accepted, or `None` if there is none.
    ///
    /// A message without a known remedy is most likely about tools, so tools are changed first.
    pub(super) fn remedy(&self, request: &ModelRequest) -> Option<Remedy> {
        let remedy = match known(&self.0) {
            Some(refusal) => refusal.remedy,
            None if self.0.contains("messages.") || self.0.contains("#/messages/") => Remedy::ToolsAsTexts,
            None => Remedy::WithoutTools,
        };
        let has_calls = request.messages.iter().flat_map(|message| message.contents()).any(is_of_tool);
        match remedy {
            Remedy::None | Remedy::Operator | Remedy::AskAgain => None,
            Remedy::ToolsAsTexts if has_calls => Some(remedy),
            Remedy::ToolsAsTexts | Remedy::WithoutTools => {
                (has_calls || !request.tools.is_empty()).then_some(Remedy::WithoutTools)
            }
            Remedy::WithoutStreaming | Remedy::WithoutCachePoints => Some(remedy),
        }
    }

    /// Returns the report of the change.
    pub(super) fn repair(&self, remedy: Remedy, message: &str) -> String {
        let what = match remedy {
            Remedy::WithoutStreaming => "asked for an answer in one piece",
            Remedy::WithoutCachePoints => "sent it without cache points",
            Remedy::ToolsAsTexts => "sent its tool calls and results as texts",
            Remedy::WithoutTools | Remedy::None | Remedy::Operator | Remedy::AskAgain => {
                "sent its tool calls and results as texts, and no tools"
            }
        };
        format!("request: {what}, because Bedrock refused it: {message}")
    }

    /// Returns Bedrock's message without words of the conversation, which become `…`.
    ///
    /// Keeps words of Bedrock's known messages and words that the conversation does not have. Hides three consecutive
    /// words if the conversation has them too.
    pub(super) fn redacted(&self, request: &ModelRequest) -> String {
        let said = said(request).to_lowercase();
        let said_words: Vec<&str> = words(&said).map(|(_, word)| word).collect();
        let runs: HashSet<&[&str]> = said_words.windows(RUN).collect();
        let vocabulary = vocabulary();
        let message: String = self.0.chars().take(MAX_MESSAGE).collect::<String>().to_lowercase();
        let found: Vec<(usize, &str)> = words(&message).collect();
        let mut is_hidden: Vec<bool> = found
            .iter()
            .map(|(at, word)| !vocabulary.contains(word) && !is_index(&message, *at, word) && said.contains(word))
            .collect();
        let only_words: Vec<&str> = found.iter().map(|(_, word)| *word).collect();
        for (at, run) in only_words.windows(RUN).enumerate() {
            if runs.contains(run) {
                is_hidden.iter_mut().skip(at).take(RUN).for_each(|hidden| *hidden = true);
            }
        }
        let (mut redacted, mut end) = (String::new(), 0);
        for ((at, word), is_hidden) in found.into_iter().zip(is_hidden) {
            redacted.extend(message.get(end..at).unwrap_or_default().chars().filter(char::is_ascii));
            redacted.push_str(if is_hidden { "…" } else { word });
            end = at + word.len();
        }
        redacted.extend(message.get(end..).unwrap_or_default().chars().filter(char::is_ascii));
        redacted.retain(|c| !c.is_control());
        redacted
    }
}

fn is_of_tool(content: &Content) -> bool {
    matches!(content, Content::ToolCall(_) | Content::ToolResult(_))
}

/// Returns the words of a text with their places. A word is a run of letters and digits.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_inside = |c: char| c.is_alphanumeric();
    text.split(move |c| !is_inside(c))
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Returns whether the word is an index of a path, such as the `12` of `messages.12`.
fn is_index(message: &str, at: usize, word: &str) -> bool {
    let before = message.get(..at).unwrap_or_default();
    let is_in_path = |separator: char| {
        before.strip_suffix(separator).is_some_and(|name| name.ends_with(|c: char| c.is_ascii_alphabetic()))
    };
    word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit()) && (is_in_path('.') || is_in_path('/'))
}

/// The words of Bedrock's known messages, and of the paths in a request.
fn vocabulary() -> HashSet<&'static str> {
    const PATHS: &str = "messages message content member system toolconfig tools toolspec inputschema json type properties \
                         required tooluse tooluseid toolresult tool use result results name input status text image \
                         document cachepoint error errors the a an of to is in for at must be not and or it this model \
                         value field fields block blocks invalid unexpected expected found with without after before \
                         validation detected request returned following extra inputs are permitted each have has no \
                         malformed please reformat your try again key extraneous turn role user assistant";
    let known = refusals().flat_map(|refusal| words(refusal.part));
    known
        .chain(words(PATHS))
        .map(|(_, word)| word)
        .filter(|word| !word.contains(|c: char| c.is_ascii_uppercase()))
        .collect()
}

fn plain_text(value: &Value) -> String {
    document_json(&to_document(value)).to_string()
}

/// Returns all words of the conversation, its prompt and its memory.
fn said(request: &ModelRequest) -> String {
    let mut said = String::new();
    let mut add = |text: &str| {
        said.push_str(text);
        said.push('\n');
    };
    request.system.iter().chain(&request.late_system).chain(&request.memory).for_each(|text| add(text));
    for content in request.messages.iter().flat_map(|message| message.contents()) {
        match content {
            Content::Text(text) => add(text),
            Content::ToolCall(call) => add(&plain_text(call.arguments())),
            Content::ToolResult(result) => match result.outcome() {
                Err(error) => add(error.message()),
                Ok(parts) => parts.iter().for_each(|part| match part {
                    ResultContent::Text(text) => add(text),
                    ResultContent::Json(value) => add(&plain_text(value)),
                    ResultContent::Media(media) => media.label.iter().for_each(|label| add(label)),
                    ResultContent::Unknown(_) => {}
                }),
            },
            Content::Media(media) => media.label.iter().for_each(|label| add(label)),
            Content::Unknown(_) => {}
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::{Message, MessageId, Position, Role, ToolCall};
    use crate::model::ToolSpec;

    fn request(texts: &[&str]) -> ModelRequest {
        let contents: Vec<Content> = texts.iter().map(|text| Content::from(*text)).collect();
        ModelRequest::new(vec![Message::new(MessageId::from(1), Position::message(0), Role::User, contents.into(), 0)])
    }

    #[test]
    fn words_of_the_conversation_are_hidden() {
        let request = request(&["My pin is 4711 and I must try again, Zoë"]);
        for (message, redacted) in [
            ("messages.12.content.0: Zoë is not permitted", "messages.12.content.0: … is not permitted"),
            ("Value 'my pin is 4711' at 'messages.2.member'", "value '… … … …' at 'messages.2.member'"),
            ("unexpected `I must try again`", "unexpected `… … … …`"),
            ("no 711 here\n", "no … here"),
            ("tool_use 4 of 8: quota", "tool_use … of 8: quota"),
        ] {
            assert_eq!(Refused(message.to_owned()).redacted(&request), redacted);
        }
    }

    #[test]
    fn message_names_the_part_to_flatten() {
        let call = ToolCall::new("a", "get_user", serde_json::json!({})).unwrap();
        let with_call = |mut request: ModelRequest| {
            let message = vec![Content::from(call.clone())].into();
            request.messages.push(Message::new(MessageId::from(2), Position::message(1), Role::Assistant, message, 0));
            request
        };
        let with_tool = |mut request: ModelRequest| {
            let schema = serde_json::json!({"type": "object"});
            request.tools = [ToolSpec::new("get_user", "", schema).unwrap()].into();
            request
        };
        let plain = || request(&["Hello"]);
        for (message, request, remedy) in [
            ("surprise", plain(), None),
            ("surprise", with_tool(plain()), Some(Remedy::WithoutTools)),
            ("messages.3 surprises", with_tool(plain()), Some(Remedy::WithoutTools)),
            ("messages.3 surprises", with_tool(with_call(plain())), Some(Remedy::ToolsAsTexts)),
            ("toolConfig.tools.0 surprises", with_tool(with_call(plain())), Some(Remedy::WithoutTools)),
            ("Input is too long for requested model.", with_tool(with_call(plain())), None),
            (
                "This model doesn't support tool use in streaming mode.",
                with_tool(plain()),
                Some(Remedy::WithoutStreaming),
            ),
        ] {
            assert_eq!(Refused(message.to_owned()).remedy(&request), remedy, "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_quote_of_the_conversation_is_left(
            said in "([a-z]{2,7}|[0-9]{4,6}|é{1,3}|[A-Z][a-z]{3}){1}( [a-zA-Z0-9]{2,7}){3,9}",
            before in "[a-z .]{0,20}", from in 0..3_usize,
        ) {
            let quoted: Vec<&str> = said.split(' ').skip(from).take(RUN).collect();
            let quoted = quoted.join(" ");
            let redacted = Refused(format!("{before} '{quoted}' is wrong")).redacted(&request(&[&said]));
            prop_assert!(!redacted.contains(&quoted.to_lowercase()), "{}", redacted);
        }
    }
}
