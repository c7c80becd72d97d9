//! [`Inference`]: the settings with which a model generates.

use crate::message::{Empty, Map, Text};

/// The inference settings of a request. A field that is not set takes the adapter's default, or else the model's own.
///
/// Set the temperature or `top_p`, not both: newer Claude models refuse the two together. The adapter checks the ranges
/// before it sends a request, and fails with [`Failure::Invalid`](super::Failure::Invalid).
///
/// ```
/// use verbale::model::Inference;
///
/// let inference = Inference { max_tokens: Some(300), temperature: Some(0.3), ..Inference::default() };
/// assert_eq!(inference.top_p, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inference {
    /// The temperature: how freely the model chooses its tokens. Bedrock accepts 0 to 1.
    pub temperature: Option<f64>,
    /// The sum of probabilities, from 0 to 1, up to which the model considers the likeliest tokens.
    pub top_p: Option<f64>,
    /// The maximum number of tokens of an answer, at least 1.
    pub max_tokens: Option<u32>,
    /// The texts at which the model stops. None of them is empty. Bedrock accepts up to 2,500.
    pub stop_sequences: Vec<Text>,
    /// The model's own fields, such as `top_k` of Claude: Converse's `additionalModelRequestFields`.
    pub model_fields: Map,
}

impl Empty for Inference {
    const EMPTY: &'static Self = &Self {
        temperature: None,
        top_p: None,
        max_tokens: None,
        stop_sequences: Vec::new(),
        model_fields: Map::empty(),
    };
}

impl Inference {
    /// Returns these settings, and those of `defaults` for fields that are not set.
    ///
    /// The temperature and `top_p` count as one setting: if one of them is set, neither is taken from `defaults`. The
    /// model's own fields are merged by key.
    #[must_use]
    pub(crate) fn or(mut self, defaults: &Self) -> Self {
        if self.temperature.is_none() && self.top_p.is_none() {
            (self.temperature, self.top_p) = (defaults.temperature, defaults.top_p);
        }
        self.max_tokens = self.max_tokens.or(defaults.max_tokens);
        if self.stop_sequences.is_empty() {
            self.stop_sequences.clone_from(&defaults.stop_sequences);
        }
        self.model_fields = self.model_fields.or(&defaults.model_fields);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(entries: &[(&str, i32)]) -> Map {
        Map::new(entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect()).unwrap()
    }

    #[test]
    fn set_fields_win_over_defaults() {
        let set = Inference {
            temperature: Some(0.1),
            top_p: None,
            max_tokens: Some(60),
            stop_sequences: vec!["a".into()],
            model_fields: fields(&[("a", 1), ("b", 1)]),
        };
        let defaults = Inference {
            temperature: Some(0.9),
            top_p: Some(0.9),
            max_tokens: Some(90),
            stop_sequences: vec!["b".into(), "c".into()],
            model_fields: fields(&[("b", 2), ("c", 2)]),
        };
        let merged = fields(&[("a", 1), ("b", 1), ("c", 2)]);
        assert_eq!(set.clone().or(&defaults), Inference { model_fields: merged, ..set.clone() });
        assert_eq!(Inference::default().or(&defaults), defaults);
        assert_eq!(set.clone().or(&Inference::default()), set);
    }

    #[test]
    fn temperature_and_top_p_are_one_setting() {
        let temperature = Inference { temperature: Some(0.3), ..Inference::default() };
        let top_p = Inference { top_p: Some(0.9), ..Inference::default() };
        assert_eq!(temperature.clone().or(&top_p), temperature);
        assert_eq!(top_p.clone().or(&temperature), top_p);
        let max_tokens = Inference { max_tokens: Some(9), ..Inference::default() };
        assert_eq!(max_tokens.or(&top_p), Inference { max_tokens: Some(9), ..top_p });
    }
}
