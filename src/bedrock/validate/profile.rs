//! [`Profile`]: what differs between models.

/// What a model takes, where models differ.
///
/// ```
/// use verbale::bedrock::Profile;
///
/// let mut profile = Profile::for_model("eu.anthropic.claude-sonnet-5");
/// assert!(profile.must_end_with_user);
/// profile.max_images = 100;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Whether a conversation that ends with the assistant is refused, instead of continued.
    pub must_end_with_user: bool,
    /// Whether results of tools have to stand before anything else in their message.
    pub tool_results_first: bool,
    /// Images in a request.
    pub max_images: usize,
    /// Bytes of an image.
    pub max_image_bytes: usize,
    /// Documents in a request.
    pub max_documents: usize,
    /// Bytes of a document.
    pub max_document_bytes: usize,
    /// Cache points in a request.
    pub max_cache_points: usize,
}

/// What Converse asks of every model.
impl Default for Profile {
    fn default() -> Self {
        Self {
            must_end_with_user: false,
            tool_results_first: false,
            max_images: 20,
            // 3.75 MB, which is 5 MB in base64, and 4.5 MB; Bedrock's MB are of 1,048,576 bytes.
            max_image_bytes: 3_932_160,
            max_documents: 5,
            max_document_bytes: 4_718_592,
            max_cache_points: 4,
        }
    }
}

/// The models of Anthropic that continue what the assistant has begun. The list is closed: newer ones do not.
const CONTINUES_ASSISTANT: [&str; 9] = [
    "claude-v",
    "claude-instant",
    "claude-3",
    "claude-opus-4-2025",
    "claude-opus-4-1",
    "claude-opus-4-5",
    "claude-sonnet-4-2025",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
];

impl Profile {
    /// What the newer models of Anthropic ask beyond that, from Claude 4.6 on.
    pub fn claude() -> Self {
        Self { must_end_with_user: true, tool_results_first: true, ..Self::default() }
    }

    /// The profile of a model by its id, or by that or the ARN of an inference profile. An id that does not name the
    /// model gets the default.
    pub fn for_model(model_id: &str) -> Self {
        match model_id.split_once("anthropic.") {
            Some((_, model)) => {
                let continues = CONTINUES_ASSISTANT.iter().any(|older| model.starts_with(older));
                Self { must_end_with_user: !continues, ..Self::claude() }
            }
            None => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_by_model_id() {
        let older = Profile { must_end_with_user: false, ..Profile::claude() };
        for (id, profile) in [
            ("anthropic.claude-v2:1", &older),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", &older),
            ("us.anthropic.claude-sonnet-4-20250514-v1:0", &older),
            ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", &older),
            ("global.anthropic.claude-opus-4-6-v1", &Profile::claude()),
            ("us.anthropic.claude-sonnet-5", &Profile::claude()),
            (
                "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-8",
                &Profile::claude(),
            ),
            ("eu.amazon.nova-lite-v1:0", &Profile::default()),
            ("arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc", &Profile::default()),
        ] {
            assert_eq!(Profile::for_model(id), *profile, "{id}");
        }
    }
}
