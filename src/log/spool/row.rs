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
    /// The epoch since which the writer serves, if it is lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_s: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<StoredHeader>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_end: Option<StoredCallEnd>,
    /// The header that the log refuses, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_header: Option<(StoredHeader, Box<str>)>,
    /// The end that the log refuses, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_end: Option<(StoredCallEnd, Box<str>)>,
}

impl CallRow {
    pub fn of(lease: &WriterLease) -> Self {
        let (epoch, served) = (lease.epoch(), lease.served());
        let served = (served != epoch).then_some(served);
        let expires_at_s = lease.expires_at_s();
        let (opening, call_end, refused_header, refused_end) = (None, None, None, None);
        Self { epoch, served, expires_at_s, opening, call_end, refused_header, refused_end }
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
            let row = Self::of(lease);
            (self.epoch, self.served, self.expires_at_s) = (row.epoch, row.served, row.expires_at_s);
        }
    }

    pub fn lease(&self, call_id: &CallId) -> WriterLease {
        WriterLease::restored(call_id.clone(), self.epoch, self.served.unwrap_or(self.epoch), self.expires_at_s)
    }
}

pub(super) fn unreadable() -> Fault {
    Fault::unreadable("it contains a call that cannot be read")
}
