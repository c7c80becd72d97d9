//! [`CallRow`]: lease, header and end of a call as JSON.

use serde::{Deserialize, Serialize};

use super::error::Fault;
use crate::log::stored::{StoredCallEnd, StoredHeader};
use crate::log::{CallId, WriterLease};

/// A call without its records. Absent keys mean `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallRow {
    pub epoch: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_s: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<StoredHeader>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_end: Option<StoredCallEnd>,
}

impl CallRow {
    pub fn of(lease: &WriterLease) -> Self {
        Self { epoch: lease.epoch(), expires_at_s: lease.expires_at_s(), opening: None, call_end: None }
    }

    pub fn read(json: &[u8]) -> Result<Self, Fault> {
        serde_json::from_slice(json).map_err(|_| unreadable())
    }

    pub fn to_json(&self) -> Result<Vec<u8>, Fault> {
        serde_json::to_vec(self).map_err(|_| unreadable())
    }

    /// Replaces the lease, unless the new one is older.
    pub fn update_lease(&mut self, lease: &WriterLease) {
        if lease.epoch() >= self.epoch {
            (self.epoch, self.expires_at_s) = (lease.epoch(), lease.expires_at_s());
        }
    }

    pub fn lease(&self, call_id: &CallId) -> WriterLease {
        WriterLease::restored(call_id.clone(), self.epoch, self.expires_at_s)
    }
}

pub(super) fn unreadable() -> Fault {
    Fault::unreadable("it contains a call that cannot be read")
}
