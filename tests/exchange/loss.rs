//! The losses of an export, as their texts name them.

pub const SUMMARY: &str = "a summary";
pub const INSTRUCTIONS: &str = "system instructions";
pub const UNHEARD: &str = "text that was not heard";
pub const ATTACHMENT: &str = "an image, audio, a video or a document";
pub const LABEL: &str = "a MIME type, a title or a label";
pub const TOOL_CALL: &str = "a tool call or its result";
pub const FAILURE: &str = "details of a failed tool call";
pub const VALUE_TYPE: &str = "the type of a value";
pub const PARTS: &str = "the ids, times and confidence of its parts";
pub const ORDER: &str = "the order in which things were said";
