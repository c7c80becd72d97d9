//! [`Rule`]: what Bedrock asks of a request, rule by rule.

/// What Bedrock asks of a request.
///
/// Each says whether the wording of its [`Violation`](super::Violation) was seen from Bedrock or Claude on it; the others
/// are worded in their manner. The rules come from the pages of
/// [`Message`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html),
/// [`ToolUseBlock`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html) and
/// [`DocumentBlock`](https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html), and from
/// what Bedrock was seen to refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The first message is a user's, and there is one. Wording seen.
    StartsWithUser,
    /// User and assistant alternate. Wording seen.
    RolesAlternate,
    /// The last message is a user's; only some models ask for it. Wording seen.
    EndsWithUser,
    /// A text of the assistant that ends the conversation ends with something said; only Claude asks for it. Wording
    /// seen.
    LastTextTrimmed,
    /// A message has contents. First sentence of the wording seen.
    ContentNotEmpty,
    /// A text, also in the system prompt and in a tool's result, says something. Wording seen for messages.
    TextNotBlank,
    /// The next user message has the result of each tool call. Wording seen.
    ToolUseAnswered,
    /// A message has no more results than the message before has calls. Wording seen.
    NoSurplusToolResult,
    /// No two tool calls, and no two results in a message, have one id. Wording seen.
    UniqueToolUseIds,
    /// Results come before anything else; only some models ask for it. Wording seen.
    ToolResultsFirst,
    /// A message with tool calls or results says nothing else; only some models ask for it. Wording seen.
    TextApartFromTools,
    /// With tool calls or results anywhere, there are tools. Wording seen.
    ToolConfigPresent,
    /// A result with status `error` has contents. Wording seen.
    ErrorResultNotEmpty,
    /// The input of a call, and JSON in a result, is an object. Wording seen.
    JsonIsObject,
    /// The id of a call has 1 to 64 of `[a-zA-Z0-9_-]`. Wording seen for other members.
    ToolUseIdFormat,
    /// The name of a tool has 1 to 64 of `[a-zA-Z0-9_-]`. Wording seen for `toolConfig`.
    ToolNameFormat,
    /// No two tools have one name. Wording seen from Claude.
    UniqueToolNames,
    /// The schema of a tool's arguments is of type `object`. Wording seen.
    ToolSchemaIsObject,
    /// At most 20 images. Wording seen.
    ImageCount,
    /// An image has at most 3.75 MB. Wording seen.
    ImageSize,
    /// At most 5 documents. Wording seen.
    DocumentCount,
    /// A document has at most 4.5 MB. Wording seen.
    DocumentSize,
    /// The name of a document has 1 to 200 letters and digits of ASCII, `-()[]` and single spaces. Wording seen.
    DocumentName,
    /// No two documents have one name. Wording seen.
    UniqueDocumentNames,
    /// A message with a document has a text. Wording seen.
    DocumentBesideText,
    /// Images, videos and documents are in user messages. Wording seen for images.
    AttachmentsInUserMessages,
    /// The model takes videos; only some do. Wording seen.
    VideoTaken,
    /// Images, videos and documents are in the request; only some models are given what is in S3. Wording seen for
    /// documents.
    S3Taken,
    /// At most 4 cache points. Wording seen from Claude.
    CachePoints,
    /// Cache points stand where the model takes them. Wording seen.
    CachePointPlaces,
    /// Temperature and `topP` are from 0 to 1, and `maxTokens` is at least 1.
    InferenceRange,
    /// There are at most 2,500 stop sequences, and none is empty.
    StopSequences,
}
