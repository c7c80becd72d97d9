//! The names in the table: attributes, prefixes of keys, the index. They are stored: changing one loses what was written.

/// The name of the table where none is given.
pub const DEFAULT_TABLE: &str = "verbale";
/// The schema version of the items that this version writes, in [`VERSION`].
pub const SCHEMA_VERSION: u32 = 1;

/// Attribute, partition key (S): `CALL#<call id>`.
pub const PARTITION_KEY: &str = "pk";
/// Attribute, sort key (S): `MSG#<seq>` of a message, `MSG#<after>#SUM#<number>` of a summary, [`HEADER`] of the call.
pub const SORT_KEY: &str = "sk";
/// Attribute (S): what the item is: [`ENTITY_MESSAGE`], [`ENTITY_SUMMARY`], [`ENTITY_CALL`], [`ENTITY_FENCE`] or
/// [`ENTITY_ERASED`].
pub const ENTITY: &str = "entity";
/// Attribute (N): the schema version.
pub const VERSION: &str = "v";
/// Attribute (N): how often the message had changed when it was written, from 1.
pub const REVISION: &str = "revision";
/// Attribute (S): the id of the message.
pub const ID: &str = "id";
/// Attribute (N) of a message: its number in the call, from 0.
pub const SEQ: &str = "seq";
/// Attribute (N) of a summary: the `seq` of the last message that it covers.
pub const AFTER: &str = "after";
/// Attribute (N) of a summary: its number among those of the call, from 1.
pub const SUMMARY: &str = "summary";
/// Attribute (N), where asked for: when the item may be deleted, in seconds since the Unix epoch. The table's
/// [time to live](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html).
pub const EXPIRES_AT: &str = "expires_at";
/// Attribute (N), only in a call that was resumed: of a message, summary or fence the epoch of the writer whose it is, of
/// a header that of the call's last writer. Where it is absent, it is 1.
pub const EPOCH: &str = "epoch";
/// Attribute (M), seldom there: the keys of a record that an attribute cannot have, for they are empty or taken.
pub const OTHERS: &str = "$record";

/// The index that finds the calls of a day. Only headers of calls are in it.
pub const CALLS_BY_DAY: &str = "gsi1";
/// Attribute, partition key of [`CALLS_BY_DAY`] (S): `DAY#<yyyy-mm-dd>`, or `<tenant>#DAY#<yyyy-mm-dd>` where there is
/// a tenant; behind it `#<shard, 2 digits>` in all [shards](super::DynamoLog::with_day_shards) but the first.
pub const DAY_PARTITION_KEY: &str = "gsi1pk";
/// Attribute, sort key of [`CALLS_BY_DAY`] (S): `<start, ms since the Unix epoch, 13 digits>#<call id>`.
pub const DAY_SORT_KEY: &str = "gsi1sk";

/// What a partition key begins with; the call id follows.
pub const CALL_PREFIX: &str = "CALL#";
/// The sort key of the header of a call.
pub const HEADER: &str = "CALL";
/// What the sort keys of messages and summaries begin with.
pub const MESSAGE_PREFIX: &str = "MSG#";
/// [`ENTITY`] of a message.
pub const ENTITY_MESSAGE: &str = "message";
/// [`ENTITY`] of a summary.
pub const ENTITY_SUMMARY: &str = "summary";
/// [`ENTITY`] of what stands where an older writer of a resumed call would write next: keys, `entity`, `v`, `epoch` and
/// `expires_at`, nothing else.
pub const ENTITY_FENCE: &str = "fence";

/// [`ENTITY`] of the header of a call.
pub const ENTITY_CALL: &str = "call";
/// [`ENTITY`] of what keeps the place of an erased header, message or summary: keys, `entity` and `v`, nothing else.
pub const ENTITY_ERASED: &str = "erased";

/// Attribute (N) of a header: when the call started, in milliseconds since the Unix epoch.
pub const STARTED: &str = "started";
/// Attribute (S) of a header, where the service has tenants: whose call it is.
pub const TENANT: &str = "tenant";
/// Attribute (N) of a header: the last epoch whose older writers are all fenced. What has an older epoch came too late.
pub const FENCED: &str = "fenced";
/// Attribute (N) of the header of a call that ended: when, in milliseconds since the Unix epoch.
pub const ENDED: &str = "ended";
/// Attribute (S) of the header of a call that ended: why.
pub const REASON: &str = "reason";
/// Attribute (N) of the header of a call that ended: how many messages there are.
pub const MESSAGES: &str = "messages";
/// Attribute (N) of the header of a call that ended: how many summaries there are.
pub const SUMMARIES: &str = "summaries";
/// Attribute (N) of the header of a call that ended, unless it has no message: the `seq` of the last one.
pub const LAST_SEQ: &str = "last_seq";
/// Attribute (BOOL) of the header of a call under a legal hold, and of no other one.
pub const HELD: &str = "held";
/// Attribute (N) of the header of a held call: what [`EXPIRES_AT`] was, and will be.
pub const EXPIRY: &str = "expiry";
/// What a partition key of [`CALLS_BY_DAY`] has before the day.
pub const DAY_PREFIX: &str = "DAY#";
/// What parts the tenant from [`DAY_PREFIX`].
pub const TENANT_SEPARATOR: &str = "#";

/// Attributes that are the item's own, so that no key of a record can have them.
pub(super) fn is_own(name: &str) -> bool {
    [PARTITION_KEY, SORT_KEY, ENTITY, VERSION, EXPIRES_AT, EPOCH, OTHERS, DAY_PARTITION_KEY, DAY_SORT_KEY]
        .contains(&name)
}
