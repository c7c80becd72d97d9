//! Cuts the results of tools to a size that the log can store, so that every call can be restored.

use std::borrow::Cow;

use crate::message::{Outcome, ResultContent, Text, ToolResult};

/// Returns the result with at most about `max_bytes` of contents. A text at its place says what is left out; the model and
/// the log get it.
///
/// Media and documents count only if `keeps_media` is false. A content store takes them out of the record.
pub(super) fn bounded(result: &ToolResult, max_bytes: usize, keeps_media: bool) -> Cow<'_, ToolResult> {
    let mut left = max_bytes;
    let is_small = match result.outcome() {
        Outcome::Success(contents) => contents.iter().map(ResultContent::record_bytes).sum::<usize>() <= left,
        Outcome::Failure(error) => error.message().len() <= left,
    };
    if is_small {
        return Cow::Borrowed(result);
    }
    let outcome = match result.outcome() {
        Outcome::Success(contents) => {
            let bounded = |content: &ResultContent| match content {
                ResultContent::Media(_) | ResultContent::Document(_) if keeps_media => content.clone(),
                content => bounded_content(content, &mut left),
            };
            Outcome::Success(contents.iter().map(bounded).collect())
        }
        Outcome::Failure(error) => Outcome::Failure(error.with_message(cut(error.message(), left))),
    };
    Cow::Owned(result.clone().with_outcome(outcome))
}

fn bounded_content(content: &ResultContent, left: &mut usize) -> ResultContent {
    let bytes = content.record_bytes();
    if bytes <= *left {
        *left -= bytes;
        return content.clone();
    }
    let room = std::mem::take(left);
    match content {
        ResultContent::Text(text) => cut(text, room).into(),
        ResultContent::Json(value) => {
            // A value always has a JSON form.
            let json = serde_json::to_string(value).unwrap_or_default();
            cut(&json, room).into()
        }
        _ => format!("[{bytes} bytes are left out: the result of the tool is too large]").into(),
    }
}

/// Returns the beginning of a text, and a note about the rest.
fn cut(text: &str, max_bytes: usize) -> Text {
    let kept = text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default();
    let left_out = text.len() - kept.len();
    format!("{kept} [{left_out} of {} bytes are left out: the result of the tool is too large]", text.len()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{ToolCall, ToolError, Value};

    fn call() -> ToolCall {
        ToolCall::new("c1", "lookup", Value::Null).unwrap()
    }

    fn texts(result: &ToolResult) -> Vec<String> {
        match result.outcome() {
            Outcome::Success(contents) => contents
                .iter()
                .map(|content| match content {
                    ResultContent::Text(text) => text.as_str().to_owned(),
                    other => format!("{other:?}"),
                })
                .collect(),
            Outcome::Failure(error) => vec![error.message().to_owned()],
        }
    }

    #[test]
    fn small_result_stays_as_it_is() {
        let result = call().success(["a", "b"]);
        assert!(matches!(bounded(&result, 2, false), Cow::Borrowed(_)));
    }

    #[test]
    fn cut_says_how_much_is_left_out() {
        let result = call().success(["abc", "äöüß", "end"]);
        assert_eq!(
            texts(&bounded(&result, 6, false)),
            [
                "abc",
                "ä [6 of 8 bytes are left out: the result of the tool is too large]",
                " [3 of 3 bytes are left out: the result of the tool is too large]"
            ]
        );
        let json = call().success(serde_json::json!({"rows": [1, 2, 3]}));
        assert_eq!(
            texts(&bounded(&json, 8, false)),
            ["{\"rows\": [8 of 16 bytes are left out: the result of the tool is too large]"]
        );
        let failed = call().failure(ToolError::new("much too long").with_type("NotFound"));
        let cut = bounded(&failed, 4, false);
        assert_eq!(texts(&cut), ["much [9 of 13 bytes are left out: the result of the tool is too large]"]);
        assert!(matches!(cut.outcome(), Outcome::Failure(error) if error.error_type() == Some("NotFound")));
    }
}
