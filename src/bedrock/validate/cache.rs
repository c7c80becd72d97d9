//! Checks the number and the places of cache points.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, DocumentFormat, SystemContentBlock, Tool};

use super::{Place, Profile, Violations, contents};
use crate::bedrock::profile::CachePlaces;

pub(super) fn check(input: &ConverseInput, profile: &Profile, violations: &mut Violations) {
    // In the order of the cached prefix.
    let tools = input.tool_config.iter().flat_map(|config| config.tools.iter().enumerate());
    let tools = tools.filter(|(_, tool)| matches!(tool, Tool::CachePoint(_))).map(|(t, _)| Place::Tool(t));
    let system = input.system().iter().enumerate();
    let system =
        system.filter(|(_, block)| matches!(block, SystemContentBlock::CachePoint(_))).map(|(s, _)| Place::System(s));
    let messages = contents(input.messages()).filter(|(.., block)| block.is_cache_point());
    let messages = messages.map(|(m, c, _)| Place::Content(m, c));
    let places: Vec<_> = tools.chain(system).chain(messages).collect();
    if let Some(place) = places.get(profile.max_cache_points) {
        let wording = format!(
            "The model returned the following errors: A maximum of {} blocks with cache_control may be provided. Found {}.",
            profile.max_cache_points,
            places.len()
        );
        violations.add("cache-points-number", *place, wording);
    }
    match profile.cache_points {
        CachePlaces::Everywhere => {
            for place in places.into_iter().filter(|place| !is_allowed(input, *place, profile)) {
                let wording = format!("The model returned the following errors: {place}.type: Field required");
                violations.add("cache-point", place, wording);
            }
        }
        CachePlaces::Nowhere => {
            if let Some(place) = places.first() {
                let wording = "You invoked an unsupported model or your request did not allow prompt caching. See the \
                               documentation for more information.";
                violations.add("cache-point", *place, wording);
            }
        }
        CachePlaces::SystemAndTexts => {
            for place in places.into_iter().filter(|place| !is_allowed(input, *place, profile)) {
                let wording = format!(
                    "The model returned the following errors: Malformed input request: {}: extraneous key [cachePoint] is \
                     not permitted, please reformat your input and try again.",
                    pointer(place)
                );
                violations.add("cache-point", place, wording);
            }
        }
    }
}

/// Returns whether the model accepts a cache point after a block of a message. `None` is the start of the message.
pub(in crate::bedrock) fn allows_cache_point_after(block: Option<&ContentBlock>, profile: &Profile) -> bool {
    match profile.cache_points {
        CachePlaces::Everywhere => {
            !matches!(block, Some(ContentBlock::Document(document)) if is_text(&document.format))
        }
        CachePlaces::SystemAndTexts => block.is_some_and(ContentBlock::is_text),
        CachePlaces::Nowhere => false,
    }
}

fn is_text(format: &DocumentFormat) -> bool {
    matches!(format, DocumentFormat::Txt | DocumentFormat::Md | DocumentFormat::Csv | DocumentFormat::Html)
}

fn is_allowed(input: &ConverseInput, place: Place, profile: &Profile) -> bool {
    match place {
        Place::System(_) => true,
        Place::Tool(_) => profile.cache_points == CachePlaces::Everywhere,
        Place::Content(m, c) => {
            let message = input.messages().get(m);
            let before = c.checked_sub(1).and_then(|before| message?.content.get(before));
            allows_cache_point_after(before, profile)
        }
        _ => false,
    }
}

/// The place as a JSON pointer, as in Nova's messages.
fn pointer(place: Place) -> String {
    format!("#/{}", place.to_string().replace('.', "/"))
}
