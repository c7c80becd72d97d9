//! [`Inference`]: the settings under which a model generates.

use crate::message::{Map, Text};

/// Inference settings of a request. What is not set is the adapter's default, or else the model's own.
///
/// Settings of a call go over those of a prompt, and those over the configuration's: [`or`](Self::or). Set the temperature
/// or `top_p`, not both: newer Claude models refuse the two together. The adapter checks the ranges before it sends a
/// request, and fails with [`Failure::Invalid`](super::Failure::Invalid).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use verbale::message::Map;
/// use verbale::model::Inference;
///
/// let fields = Map::new([("top_k".to_owned(), 40.into())].into())?;
/// let config = Inference::default().with_max_tokens(300).with_temperature(0.3).with_model_fields(fields.clone());
/// let call = Inference::default().with_max_tokens(60);
/// let expected = Inference::default().with_max_tokens(60).with_temperature(0.3).with_model_fields(fields);
/// assert_eq!(call.or(&config), expected);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Inference {
    /// How freely the model chooses its tokens. Bedrock takes 0 to 1.
    pub temperature: Option<f64>,
    /// The share of probability that the likeliest tokens, from which the model chooses, have together: 0 to 1.
    pub top_p: Option<f64>,
    /// The maximum number of tokens of an answer, at least 1.
    pub max_tokens: Option<u32>,
    /// The texts at which the model stops. None of them is empty. Bedrock takes up to 2,500.
    pub stop_sequences: Vec<Text>,
    /// The model's own fields, such as `top_k` of Claude: Converse's `additionalModelRequestFields`.
    pub model_fields: Map,
}

impl Inference {
    /// Sets the temperature, from 0 to 1.
    #[must_use]
    pub fn with_temperature(self, temperature: f64) -> Self {
        Self { temperature: Some(temperature), ..self }
    }

    /// Sets the share of probability from which the model chooses, from 0 to 1.
    #[must_use]
    pub fn with_top_p(self, top_p: f64) -> Self {
        Self { top_p: Some(top_p), ..self }
    }

    /// Sets the maximum number of tokens of an answer, at least 1.
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: u32) -> Self {
        Self { max_tokens: Some(max_tokens), ..self }
    }

    /// Replaces the texts at which the model stops.
    #[must_use]
    pub fn with_stop_sequences<T: Into<Text>>(self, sequences: impl IntoIterator<Item = T>) -> Self {
        Self { stop_sequences: sequences.into_iter().map(Into::into).collect(), ..self }
    }

    /// Replaces the model's own fields.
    #[must_use]
    pub fn with_model_fields(self, fields: Map) -> Self {
        Self { model_fields: fields, ..self }
    }

    /// Returns these settings, with those of `defaults` where nothing is set here.
    ///
    /// The temperature and `top_p` are one choice: where one of them is set here, neither is taken from `defaults`. The
    /// model's own fields are merged by key.
    #[must_use]
    pub fn or(mut self, defaults: &Self) -> Self {
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
    fn what_is_set_wins_over_the_defaults() {
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
    fn temperature_and_top_p_are_one_choice() {
        let [temperature, top_p] = [Inference::default().with_temperature(0.3), Inference::default().with_top_p(0.9)];
        assert_eq!(temperature.clone().or(&top_p), temperature);
        assert_eq!(top_p.clone().or(&temperature), top_p);
        assert_eq!(Inference::default().with_max_tokens(9).or(&top_p), top_p.with_max_tokens(9));
    }
}
