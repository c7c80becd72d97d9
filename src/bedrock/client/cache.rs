//! Cache points: where the next turn's request will still be what this one is.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{
    CachePointBlock, CachePointType, ContentBlock, ConversationRole, SystemContentBlock, Tool,
};

use crate::bedrock::validate::{CachePlaces, Profile, is_taken_behind};

/// Adds cache points where the model takes them, the most useful ones first, as many as it takes.
///
/// One stands behind the last user message, where the next turn goes on, and one behind the user message before, where
/// the last turn stood: that one is read. One stands after the first `stable` blocks of the system prompt and covers the
/// tools too, so that these stay when late instructions or the memory after them change; and one stands behind the tools.
pub(super) fn add_cache_points(input: &mut ConverseInput, stable: usize, profile: &Profile) {
    let Ok(point) = CachePointBlock::builder().r#type(CachePointType::Default).build() else { return };
    let mut left = profile.max_cache_points;
    let users = input.messages.iter_mut().flatten().rev().filter(|message| message.role == ConversationRole::User);
    for message in users.take(2) {
        if left > 0 && is_taken_behind(message.content.last(), profile) {
            message.content.push(ContentBlock::CachePoint(point.clone()));
            left -= 1;
        }
    }
    if left > 0
        && stable > 0
        && profile.cache_points != CachePlaces::Nowhere
        && let Some(system) = &mut input.system
        && stable <= system.len()
    {
        system.insert(stable, SystemContentBlock::CachePoint(point.clone()));
        left -= 1;
    }
    if left > 0
        && profile.cache_points == CachePlaces::Everywhere
        && let Some(config) = &mut input.tool_config
    {
        config.tools.push(Tool::CachePoint(point));
    }
}
