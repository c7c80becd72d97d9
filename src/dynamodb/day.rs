//! The partitions of the index: a day's calls, spread over shards.

use std::num::NonZeroU8;

use super::names;
use crate::log::{CallHeader, CallId, Day, Tenant};

/// Returns the partition of a call in the index.
pub(super) fn key_of(header: &CallHeader, shards: NonZeroU8) -> String {
    key(header.day(), header.tenant(), shard_of(header.call_id(), shards))
}

/// Returns the partition of one shard of the calls of a day and tenant.
pub(super) fn key(day: Day, tenant: Option<&Tenant>, shard: u8) -> String {
    let tenant = tenant.map(|tenant| format!("{tenant}{}", names::TENANT_SEPARATOR)).unwrap_or_default();
    // The first shard has the key of a day without shards, so a table can get shards later.
    let shard = if shard == 0 { String::new() } else { format!("#{shard:02}") };
    format!("{tenant}{}{day}{shard}", names::DAY_PREFIX)
}

/// Returns the partition of the calls that were erased on a day, of all tenants.
pub(super) fn erased_key(day: Day) -> String {
    format!("{}{day}", names::ERASED_PREFIX)
}

/// Hashes the call id with 32-bit [FNV-1a](https://datatracker.ietf.org/doc/html/draft-eastlake-fnv). Stored keys depend
/// on the hash, so it never changes.
fn shard_of(call_id: &CallId, shards: NonZeroU8) -> u8 {
    let hash = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = call_id.as_str().bytes().fold(0x811c_9dc5, hash);
    (hash % u32::from(shards.get())) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_is_stable_and_calls_spread_evenly() {
        let shards = NonZeroU8::new(10).unwrap();
        let of = |id: &str| shard_of(&CallId::new(id).unwrap(), shards);
        // The hashes of the draft's test vectors: 0xe40c292c and 0xbf9cf968.
        assert_eq!((of("a"), of("foobar")), ((0xe40c_292c_u32 % 10) as u8, (0xbf9c_f968_u32 % 10) as u8));
        let mut calls = [0; 10];
        for number in 0..10_000 {
            calls[usize::from(of(&format!("CA{number}")))] += 1;
        }
        assert!(calls.iter().all(|calls| (900..1_100).contains(calls)), "{calls:?}");
    }

    #[test]
    fn partition_keys_are_unique() {
        let day = Day::of_ms(0);
        let tenant = Tenant::new("DAY#1970-01-01").unwrap();
        let keys = [key(day, None, 0), key(day, None, 1), key(day, Some(&tenant), 0), key(day, Some(&tenant), 12)];
        let expected = ["DAY#1970-01-01", "DAY#1970-01-01#01"].map(str::to_owned);
        assert_eq!(keys[..2], expected);
        assert_eq!(keys[2..], ["DAY#1970-01-01#DAY#1970-01-01", "DAY#1970-01-01#DAY#1970-01-01#12"]);
    }
}
