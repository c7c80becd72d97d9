//! Checks inference settings and metadata: ranges, lengths and numbers.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::InferenceConfiguration;

use super::{Place, Profile, Violations};
use crate::bedrock::profile::service::{MAX_METADATA_ENTRIES, MAX_METADATA_LENGTH, MAX_STOP_SEQUENCES};

pub(super) fn check(input: &ConverseInput, profile: &Profile, violations: &mut Violations) {
    if let Some(config) = input.inference_config() {
        check_ranges(config, violations);
        if !profile.temperature_and_top_p && config.temperature.is_some() && config.top_p.is_some() {
            let wording = "The model returned the following errors: `temperature` and `top_p` cannot both be specified \
                           for this model. Please use only one.";
            violations.add("inference", Place::Inference, wording);
        }
    }
    check_metadata(input, violations);
}

fn check_metadata(input: &ConverseInput, violations: &mut Violations) {
    let Some(metadata) = input.request_metadata() else { return };
    let mut refuse = |constraint: String| {
        violations.add_constraint("request-metadata", Place::Metadata, "entries", &constraint);
    };
    if metadata.len() > MAX_METADATA_ENTRIES {
        refuse(format!("have length less than or equal to {MAX_METADATA_ENTRIES}"));
    }
    let is_valid = |text: &String| {
        text.chars().count() <= MAX_METADATA_LENGTH
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c.is_whitespace() || ":_@$#=/+,-.".contains(c))
    };
    if metadata.iter().any(|(key, value)| key.is_empty() || !is_valid(key) || !is_valid(value)) {
        refuse(r"satisfy regular expression pattern: [a-zA-Z0-9\s:_@$#=/+,-.]{1,256}".to_owned());
    }
}

fn check_ranges(config: &InferenceConfiguration, violations: &mut Violations) {
    let mut refuse = |member: &str, constraint: &str| {
        violations.add_constraint("inference", Place::Inference, member, constraint);
    };
    if config.max_tokens.is_some_and(|tokens| tokens < 1) {
        refuse("maxTokens", "have value greater than or equal to 1");
    }
    for (member, share) in [("temperature", config.temperature), ("topP", config.top_p)] {
        match share {
            Some(share) if share < 0.0 => {
                refuse(member, "have value greater than or equal to 0");
            }
            Some(share) if share > 1.0 || share.is_nan() => {
                refuse(member, "have value less than or equal to 1");
            }
            _ => {}
        }
    }
    if config.stop_sequences().len() > MAX_STOP_SEQUENCES {
        let constraint = format!("have length less than or equal to {MAX_STOP_SEQUENCES}");
        refuse("stopSequences", &constraint);
    }
    if let Some(empty) = config.stop_sequences().iter().position(String::is_empty) {
        let member = format!("stopSequences.{}.member", empty + 1);
        refuse(&member, "have length greater than or equal to 1");
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_bedrockruntime::types::builders::InferenceConfigurationBuilder as Builder;

    use super::*;

    #[test]
    fn out_of_range_settings_are_violations() {
        let config = InferenceConfiguration::builder;
        let violations_of = |config: Builder| {
            let mut violations = Violations::default();
            check_ranges(&config.build(), &mut violations);
            violations.0.iter().map(|violation| (violation.rule, violation.to_string())).collect::<Vec<_>>()
        };
        let many = |count| config().set_stop_sequences(Some(vec!["x".to_owned(); count]));
        for good in [
            config(),
            config().temperature(0.0).top_p(0.0).max_tokens(1),
            config().temperature(1.0).top_p(1.0).max_tokens(i32::MAX),
            many(2_500),
        ] {
            assert_eq!(violations_of(good), []);
        }
        for (bad, member, constraint) in [
            (config().temperature(1.1), "temperature", "have value less than or equal to 1"),
            (config().temperature(f32::NAN), "temperature", "have value less than or equal to 1"),
            (config().top_p(-0.1), "topP", "have value greater than or equal to 0"),
            (config().max_tokens(0), "maxTokens", "have value greater than or equal to 1"),
            (many(2_501), "stopSequences", "have length less than or equal to 2500"),
            (many(1).stop_sequences(""), "stopSequences.2.member", "have length greater than or equal to 1"),
        ] {
            let wording = format!(
                "1 validation error detected: Value at 'inferenceConfig.{member}' failed to satisfy constraint: Member must \
             {constraint}"
            );
            assert_eq!(violations_of(bad), [("inference", wording)]);
        }
    }
}
