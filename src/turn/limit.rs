//! Cuts the results of tools to a size that the log can store, so that every call can be restored.

use std::borrow::Cow;

use crate::message::{ResultContent, Text, ToolResult};

/// The approximate size of the quotes or the type around a content in a record, and the maximum size of an error's type, in
/// bytes.
const AROUND: usize = 16;
const LONGEST_TYPE: usize = 100;

/// Returns the result with at most about `max_bytes` of contents. A text at the end says how much is left out, for the
/// model and the log.
///
/// The data of media and documents counts only if `keeps_media` is false; otherwise a content store takes it out of the
/// record.
pub(super) fn bounded(result: &ToolResult, max_bytes: usize, keeps_media: bool) -> Cow<'_, ToolResult> {
    let size = |content: &ResultContent| match content {
        ResultContent::Media(_) if keeps_media => AROUND,
        content => AROUND + content.record_bytes(),
    };
    let outcome = match result.outcome() {
        Ok(contents) if contents.iter().map(size).sum::<usize>() <= max_bytes => {
            return Cow::Borrowed(result);
        }
        Ok(contents) => Ok(beginning(contents, max_bytes, size)),
        Err(error) => {
            let kind = error.error_type().unwrap_or_default();
            if error.message().len() <= max_bytes && kind.len() <= LONGEST_TYPE {
                return Cow::Borrowed(result);
            }
            let bounded = error.with_message(cut(error.message(), max_bytes));
            let is_long = kind.len() > LONGEST_TYPE;
            Err(if is_long { bounded.with_type(prefix(kind, LONGEST_TYPE)) } else { bounded })
        }
    };
    Cow::Owned(result.clone().with_outcome(outcome))
}

/// Returns the contents that fit, the beginning of the next one, and a note about the rest.
fn beginning(
    contents: &[ResultContent],
    max_bytes: usize,
    size: impl Fn(&ResultContent) -> usize,
) -> Vec<ResultContent> {
    let mut left = max_bytes;
    let fits = |content: &&ResultContent| {
        let bytes = size(content);
        let fits = bytes <= left;
        left -= if fits { bytes } else { 0 };
        fits
    };
    let mut kept: Vec<ResultContent> = contents.iter().take_while(fits).cloned().collect();
    let mut rest = contents.iter().skip(kept.len());
    match rest.next() {
        Some(ResultContent::Text(text)) => kept.push(cut(text, left).into()),
        Some(ResultContent::Json(value)) => {
            // A value always has a JSON form.
            kept.push(cut(&serde_json::to_string(value).unwrap_or_default(), left).into());
        }
        Some(other) => {
            let bytes = other.record_bytes();
            kept.push(format!("[{bytes} bytes are left out: the result of the tool is too large]").into());
        }
        None => {}
    }
    let (count, bytes) = rest.fold((0, 0), |(count, bytes), content| (count + 1, bytes + content.record_bytes()));
    if count > 0 {
        kept.push(format!("[{count} more contents with {bytes} bytes are left out]").into());
    }
    kept
}

/// Returns the beginning of a text, and a note about the rest.
fn cut(text: &str, max_bytes: usize) -> Text {
    let kept = prefix(text, max_bytes);
    let left_out = text.len() - kept.len();
    format!("{kept} [{left_out} of {} bytes are left out: the result of the tool is too large]", text.len()).into()
}

fn prefix(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
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
            Ok(contents) => contents
                .iter()
                .map(|content| match content {
                    ResultContent::Text(text) => text.as_str().to_owned(),
                    other => format!("{other:?}"),
                })
                .collect(),
            Err(error) => vec![error.message().to_owned()],
        }
    }

    #[test]
    fn small_result_stays_as_it_is() {
        let result = call().success(["a", "b"]);
        assert!(matches!(bounded(&result, 2 + 2 * AROUND, false), Cow::Borrowed(_)));
    }

    #[test]
    fn cut_says_how_much_is_left_out() {
        let result = call().success(["abc", "äöüß", "end"]);
        assert_eq!(
            texts(&bounded(&result, 3 + AROUND + 3, false)),
            [
                "abc",
                "ä [6 of 8 bytes are left out: the result of the tool is too large]",
                "[1 more contents with 3 bytes are left out]"
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
        assert!(matches!(cut.outcome(), Err(error) if error.error_type() == Some("NotFound")));
    }

    #[test]
    fn nothing_gets_around_the_limit() {
        let size = |result: &ToolResult| serde_json::to_string(&*bounded(result, 1_000, false)).unwrap().len();
        let many = call().success(vec![""; 100_000]);
        let long = call().success(vec!["too long"; 10_000]);
        let of_type = call().failure(ToolError::new("much").with_type("x".repeat(100_000)));
        for result in [many, long, of_type] {
            assert!(size(&result) < 2_000, "{}", size(&result));
        }
    }
}
