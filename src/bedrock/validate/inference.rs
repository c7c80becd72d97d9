//! Checks inference settings: ranges, and the number of stop sequences.
//!
//! The limits come from the page of
//! [`InferenceConfiguration`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html).

use aws_sdk_bedrockruntime::types::InferenceConfiguration;

use super::{Place, Violations};

const MAX_STOP_SEQUENCES: usize = 2_500;

pub(super) fn check(config: &InferenceConfiguration, violations: &mut Violations) {
    let mut refuse = |member: &str, constraint: &str| {
        violations.add_constraint(Place::Inference, member, constraint);
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

    use super::super::ViolationKind;
    use super::*;

    #[test]
    fn out_of_range_settings_are_violations() {
        let config = InferenceConfiguration::builder;
        let violations_of = |config: Builder| {
            let mut violations = Violations { kind: ViolationKind::Inference, found: Vec::new() };
            check(&config.build(), &mut violations);
            violations.found.iter().map(|violation| (violation.kind, violation.to_string())).collect::<Vec<_>>()
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
            assert_eq!(violations_of(bad), [(ViolationKind::Inference, wording)]);
        }
    }
}
