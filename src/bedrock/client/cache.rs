//! Adds cache points, so that the provider reads the unchanged start of the next request from its cache.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{
    CachePointBlock, CachePointType, ContentBlock, ConversationRole, SystemContentBlock, Tool,
};

use crate::bedrock::profile::{CachePlaces, Profile};
use crate::bedrock::validate::allows_cache_point_after;

/// Adds cache points where the model accepts them, up to its maximum, the most useful ones first:
///
/// 1. After the last user message: the next turn extends this prefix.
/// 2. After the user message before it: the previous turn wrote this prefix, so this request reads it.
/// 3. After the first `stable` blocks of the system prompt, which covers the tools too: this prefix stays equal when
///    the late instructions or the memory after it change.
/// 4. After the tools.
pub(super) fn add_cache_points(input: &mut ConverseInput, stable: usize, profile: &Profile) {
    let Ok(point) = CachePointBlock::builder().r#type(CachePointType::Default).build() else { return };
    let mut left = profile.max_cache_points;
    let users = input.messages.iter_mut().flatten().rev().filter(|message| message.role == ConversationRole::User);
    for message in users.take(2) {
        if left > 0 && allows_cache_point_after(message.content.last(), profile) {
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
