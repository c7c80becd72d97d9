//! The partitions of the index of callers.

use super::names;
use crate::log::{CallerId, Tenant};

/// Returns the partition of the calls of a caller and tenant.
pub(super) fn key(tenant: Option<&Tenant>, caller: &CallerId) -> String {
    let tenant = tenant.map(|tenant| format!("{tenant}{}", names::TENANT_SEPARATOR)).unwrap_or_default();
    // The hash has a fixed length and no separator, so the keys of different tenants differ.
    format!("{}{tenant}{}", names::CALLER_PREFIX, caller.as_str())
}
