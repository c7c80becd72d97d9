//! [`ResultContent`]: one content of a tool's result.

use std::fmt;

use super::Media;
use crate::message::text::Text;
use crate::message::value::{Map, Value};

/// One content of a tool's result.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultContent {
    /// Text.
    Text(Text),
    /// Structured data.
    Json(Value),
    /// An image, audio, a video or a document.
    Media(Box<Media>),
    /// A content that a newer version wrote. It is kept and logged, but never sent to a model.
    Unknown(Box<Map>),
}

impl fmt::Debug for ResultContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.fmt(f),
            Self::Json(value) => write!(f, "Json({value:?})"),
            Self::Media(media) => media.fmt(f),
            Self::Unknown(map) => write!(f, "Unknown({} entries)", map.len()),
        }
    }
}

/// The contents of a tool's result: any number of [`ResultContent`]s.
///
/// It converts from all types that convert into a [`ResultContent`], and from arrays and `Vec`s of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultContents(Vec<ResultContent>);

impl ResultContents {
    pub(super) fn into_vec(self) -> Vec<ResultContent> {
        self.0
    }
}

impl<T: Into<ResultContent>> From<T> for ResultContents {
    fn from(content: T) -> Self {
        Self(vec![content.into()])
    }
}

impl<T: Into<ResultContent>> From<Vec<T>> for ResultContents {
    fn from(contents: Vec<T>) -> Self {
        Self(contents.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<ResultContent>, const N: usize> From<[T; N]> for ResultContents {
    fn from(contents: [T; N]) -> Self {
        Self(contents.into_iter().map(Into::into).collect())
    }
}

impl From<&str> for ResultContent {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for ResultContent {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Text> for ResultContent {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

/// Converts JSON into a [`Value`], or into text if it does not fit one, such as 1e300.
impl From<serde_json::Value> for ResultContent {
    fn from(json: serde_json::Value) -> Self {
        Value::try_from(json.clone()).map_or_else(|_| Self::Text(json.to_string().into()), Self::Json)
    }
}

impl From<Value> for ResultContent {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

impl From<Media> for ResultContent {
    fn from(media: Media) -> Self {
        Self::Media(Box::new(media))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn common_types_convert_into_a_result() {
        fn contents_of(contents: impl Into<ResultContents>) -> serde_json::Value {
            serde_json::to_value(contents.into().into_vec()).unwrap()
        }
        assert_eq!(contents_of("done"), json!(["done"]));
        assert_eq!(contents_of(json!({"a": [1, 0.5]})), json!([{"type": "json", "json": {"a": [1, 0.5]}}]));
        assert_eq!(contents_of(vec!["a", "b"]), json!(["a", "b"]));
        assert_eq!(
            contents_of([json!(1), json!("b")]),
            json!([{"type": "json", "json": 1}, {"type": "json", "json": "b"}])
        );
        assert_eq!(contents_of(ResultContents::default()), json!([]));
        // 1e300 does not fit a `Value`.
        assert_eq!(contents_of(json!({"a": 1e300})), json!([r#"{"a":1e+300}"#]));
    }
}
