//! Removes cache points that the model does not support.

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, SystemContentBlock, Tool};

use super::Repairs;
use crate::bedrock::profile::{CachePlaces, Profile};
use crate::bedrock::validate::allows_cache_point_after;

/// Removes misplaced cache points. If too many are left, removes the oldest in messages first.
pub(super) fn remove_surplus(input: &mut ConverseInput, profile: &Profile, repairs: &mut Repairs) {
    let before = count(input);
    if before == 0 {
        return;
    }
    remove_misplaced(input, profile);
    remove_oldest(input, count(input).saturating_sub(profile.max_cache_points));
    if count(input) < before {
        repairs.add("messages", "removed cache points that the model does not support");
    }
}

fn count(input: &ConverseInput) -> usize {
    let tools = input.tool_config.iter().flat_map(|config| &config.tools);
    let blocks = input.messages().iter().flat_map(|message| &message.content);
    tools.filter(|tool| is_at_tool(tool)).count()
        + input.system().iter().filter(|block| is_in_system(block)).count()
        + blocks.filter(|block| block.is_cache_point()).count()
}

fn is_at_tool(tool: &Tool) -> bool {
    matches!(tool, Tool::CachePoint(_))
}

fn is_in_system(block: &SystemContentBlock) -> bool {
    matches!(block, SystemContentBlock::CachePoint(_))
}

fn remove_misplaced(input: &mut ConverseInput, profile: &Profile) {
    if profile.cache_points != CachePlaces::Everywhere
        && let Some(config) = &mut input.tool_config
    {
        config.tools.retain(|tool| !is_at_tool(tool));
    }
    if profile.cache_points == CachePlaces::Nowhere
        && let Some(system) = &mut input.system
    {
        system.retain(|block| !is_in_system(block));
    }
    for message in input.messages.iter_mut().flatten() {
        let blocks = std::mem::take(&mut message.content);
        let mut kept: Vec<ContentBlock> = Vec::with_capacity(blocks.len());
        for block in blocks {
            if !block.is_cache_point() || allows_cache_point_after(kept.last(), profile) {
                kept.push(block);
            }
        }
        message.content = kept;
    }
}

fn remove_oldest(input: &mut ConverseInput, mut surplus: usize) {
    let mut keep = |is_point: bool| {
        let is_surplus = is_point && surplus > 0;
        surplus -= usize::from(is_surplus);
        !is_surplus
    };
    for message in input.messages.iter_mut().flatten() {
        message.content.retain(|block| keep(block.is_cache_point()));
    }
    if let Some(config) = &mut input.tool_config {
        config.tools.retain(|tool| keep(is_at_tool(tool)));
    }
    if let Some(system) = &mut input.system {
        system.retain(|block| keep(is_in_system(block)));
    }
}
