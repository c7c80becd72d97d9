//! The stored names: attributes, key prefixes and the index. Changing one makes existing items unreadable.

/// The default name of the table.
pub const DEFAULT_TABLE: &str = "verbale";
/// The schema version of the items that this version writes, in [`VERSION`].
pub const SCHEMA_VERSION: u32 = 1;
/// The schema version of a span. A version of this library that does not know spans refuses to read a call that has
/// one.
pub const SPAN_VERSION: u32 = 2;

/// Attribute, partition key (S): `CALL#<call id>`.
pub const PARTITION_KEY: &str = "pk";
/// Attribute, sort key (S): `MSG#<seq>` for a message, or for a span by its first message, `MSG#<after>#SUM#<number>`
/// for a summary, [`HEADER`] for the header.
pub const SORT_KEY: &str = "sk";
/// Attribute (S): the kind of item: [`ENTITY_MESSAGE`], [`ENTITY_SPAN`], [`ENTITY_SUMMARY`], [`ENTITY_CALL`],
/// [`ENTITY_FENCE`] or [`ENTITY_ERASED`].
pub const ENTITY: &str = "entity";
/// Attribute (N): the schema version.
pub const VERSION: &str = "v";
/// Attribute (N): the revision of the message, from 1.
pub const REVISION: &str = "revision";
/// Attribute (S): the id of the message.
pub const ID: &str = "id";
/// Attribute (N) of a message: its number in the call, from 0.
pub const SEQ: &str = "seq";
/// Attribute (N), optional: the time after which DynamoDB may delete the item, in seconds since the Unix epoch. The table's
/// [time to live](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html).
pub const EXPIRES_AT: &str = "expires_at";
/// Attribute (N), only in a resumed call: the epoch of the writer that owns a message, summary or fence, or in a header the
/// highest epoch that a process has taken. If absent, the epoch is 1.
pub const EPOCH: &str = "epoch";
/// Attribute (M), rare: the keys of a record that cannot be attribute names because they are empty or reserved.
pub const OTHERS: &str = "$record";
/// The prefix of the attributes (M) of a span, one for each message: `m<seq>`, with the attributes of the message
/// except [`SEQ`].
pub const MEMBER_PREFIX: &str = "m";
/// Attribute (N) of a span: the `seq` of its last message.
pub const LAST: &str = "last";
/// Attribute (N) of a span: a number that grows with each change, at first the sum of the revisions.
pub const CHANGES: &str = "rev";

/// The index that lists the calls of a day. It holds only headers.
pub const CALLS_BY_DAY: &str = "gsi1";
/// Attribute, partition key of [`CALLS_BY_DAY`] (S): `DAY#<yyyy-mm-dd>`, or `<tenant>#DAY#<yyyy-mm-dd>` for the calls of a
/// tenant. All [shards](super::DynamoLog::with_day_shards) except the first append `#<shard, 2 digits>`.
pub const DAY_PARTITION_KEY: &str = "gsi1pk";
/// Attribute, sort key of [`CALLS_BY_DAY`] (S): `<start, ms since the Unix epoch, 13 digits>#<call id>`.
pub const DAY_SORT_KEY: &str = "gsi1sk";

/// The index that finds the calls of a caller. It is sparse: it holds only headers with a caller.
pub const CALLS_BY_CALLER: &str = "gsi2";
/// Attribute, partition key of [`CALLS_BY_CALLER`] (S): `CALLER#<hash of the number>`, or
/// `CALLER#<tenant>#<hash of the number>` for the calls of a tenant.
pub const CALLER_PARTITION_KEY: &str = "gsi2pk";
/// Attribute, sort key of [`CALLS_BY_CALLER`] (S): the same as [`DAY_SORT_KEY`].
pub const CALLER_SORT_KEY: &str = "gsi2sk";

/// The prefix of a call's partition key, followed by the call id.
pub const CALL_PREFIX: &str = "CALL#";
/// The sort key of the header of a call.
pub const HEADER: &str = "CALL";
/// The prefix of the sort keys of messages and summaries.
pub const MESSAGE_PREFIX: &str = "MSG#";
/// [`ENTITY`] of a message.
pub const ENTITY_MESSAGE: &str = "message";
/// [`ENTITY`] of a span: consecutive messages in one item.
pub const ENTITY_SPAN: &str = "span";
/// [`ENTITY`] of a summary.
pub const ENTITY_SUMMARY: &str = "summary";
/// [`ENTITY`] of a fence, which occupies a position that an older writer of a resumed call would write next. It holds
/// only its keys, `entity`, `v`, `epoch` and `expires_at`.
pub const ENTITY_FENCE: &str = "fence";

/// [`ENTITY`] of the header of a call.
pub const ENTITY_CALL: &str = "call";
/// [`ENTITY`] of the mark that replaces an erased header, message or summary, or blocks the position of a late record.
/// It holds only its keys, `entity` and `v`.
pub const ENTITY_ERASED: &str = "erased";

/// Attribute (N) of a header: the start of the call, in milliseconds since the Unix epoch.
pub const STARTED: &str = "started";
/// Attribute (S) of a header, optional: the tenant of the call.
pub const TENANT: &str = "tenant";
/// Attribute (S) of a header, optional: the salted hash of the caller's number, 32 hexadecimal digits.
pub const CALLER: &str = "caller";
/// Attribute (M) of a header, optional: the attributes of the service.
pub const ATTRIBUTES: &str = "attributes";
/// Attribute (N) of a header: the epoch at which the call's writer began to serve; if absent, 1. Items with a lower
/// epoch were written too late.
pub const FENCED: &str = "fenced";
/// Attribute (S) of a header: 32 hexadecimal digits that each write of the header changes.
pub const NONCE: &str = "nonce";
/// Attribute (BOOL) of a header, only while a process is taking the call over: true.
pub const TAKING: &str = "taking";
/// Attribute (N) of an ended call's header: the end, in milliseconds since the Unix epoch.
pub const ENDED: &str = "ended";
/// Attribute (S) of an ended call's header: the reason for the end.
pub const REASON: &str = "reason";
/// Attribute (N) of an ended call's header: the number of messages.
pub const MESSAGES: &str = "messages";
/// Attribute (N) of an ended call's header: the number of summaries.
pub const SUMMARIES: &str = "summaries";
/// Attribute (N) of an ended call's header: the `seq` of the last message. Absent if the call has no message.
pub const LAST_SEQ: &str = "last_seq";
/// Attribute (BOOL) of a header, only under a legal hold: true.
pub const HELD: &str = "held";
/// Attribute (N) of a held call's header: the value of [`EXPIRES_AT`] before and after the hold.
pub const EXPIRY: &str = "expiry";
/// The prefix of the day in a partition key of [`CALLS_BY_DAY`].
pub const DAY_PREFIX: &str = "DAY#";
/// The prefix of the partition keys of [`CALLS_BY_DAY`] that hold the marks of erased calls: `ERASED#<yyyy-mm-dd>`, by the
/// day of the erasure. Their sort key is `<erasure, ms since the Unix epoch, 13 digits>#<call id>`.
pub const ERASED_PREFIX: &str = "ERASED#";
/// The prefix of the partition keys of [`CALLS_BY_CALLER`].
pub const CALLER_PREFIX: &str = "CALLER#";
/// The separator between the tenant and [`DAY_PREFIX`], and between the tenant and the caller.
pub const TENANT_SEPARATOR: &str = "#";

/// The prefix of a content's partition key, followed by its id: `CONTENT#sha256:<64 digits>`. Also the prefix of the sort
/// key of a use in the partition of its owner.
pub const CONTENT_PREFIX: &str = "CONTENT#";
/// The prefix of an owner's partition key, followed by the owner's name, which is the id of a call.
pub const OWNER_PREFIX: &str = "OWNER#";
/// The sort key of the head of a content. It sorts after its chunks and before its uses.
pub const CONTENT_HEAD: &str = "CONTENT";
/// The prefix of the sort key of a chunk: `CHUNK#<generation>#<number, 4 digits>`.
pub const CHUNK_PREFIX: &str = "CHUNK#";
/// The prefix of the sort key of a use, followed by the owner.
pub const USE_PREFIX: &str = "USE#";
/// [`ENTITY`] of the head of a content.
pub const ENTITY_CONTENT: &str = "content";
/// [`ENTITY`] of a chunk of a content.
pub const ENTITY_CHUNK: &str = "chunk";
/// [`ENTITY`] of a use of a content, in the partition of the content and in that of the owner.
pub const ENTITY_USE: &str = "use";
/// Attribute (N) of the head of a content: its size in bytes.
pub const SIZE: &str = "size";
/// Attribute (BOOL) of the head of a content, only until all its chunks are stored: true. Such a content cannot be read.
pub const UPLOADING: &str = "uploading";
/// Attribute (S) of the head of a content, only if its chunks are one zstd frame: the SHA-256 of the frame, 64 digits.
pub const ZSTD: &str = "zstd";
/// Attribute (S) of the head of a content: the id of one upload of the content, which its chunks have in their keys.
pub const GENERATION: &str = "generation";
/// Attribute (N) of the head of a content: the number of puts that found this generation.
pub const PUTS: &str = "puts";
/// Attribute (S) of a use: the id of the put that wrote it.
pub const PUT_ID: &str = "put";
/// Attribute (B) of a chunk: its bytes.
pub const BYTES: &str = "bytes";

/// Returns whether an attribute name is reserved, so that no key of a record can have it.
pub(super) fn is_own(name: &str) -> bool {
    let keys = [PARTITION_KEY, SORT_KEY, DAY_PARTITION_KEY, DAY_SORT_KEY, CALLER_PARTITION_KEY, CALLER_SORT_KEY];
    keys.contains(&name) || [ENTITY, VERSION, EXPIRES_AT, EPOCH, OTHERS].contains(&name)
}
