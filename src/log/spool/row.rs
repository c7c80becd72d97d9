//! A call as a spool keeps it: claim, header and ending in JSON.

use serde::{Deserialize, Serialize};

use super::error::Fault;
use crate::log::{CallHeader, CallId, Claim, Ending, LogError, Tenant};

/// A call without its records. Keys that are absent have no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallRow {
    pub epoch: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_s: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<HeaderRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<EndingRow>,
}

/// All of a header but its call's id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeaderRow {
    started_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_s: Option<i64>,
    epoch: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<EndingRow>,
    is_held: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EndingRow {
    at_ms: i64,
    reason: String,
    messages: u32,
    summaries: u32,
}

impl CallRow {
    pub fn of(claim: &Claim) -> Self {
        Self { epoch: claim.epoch(), expires_at_s: claim.expires_at_s(), opening: None, ending: None }
    }

    pub fn read(json: &[u8]) -> Result<Self, Fault> {
        serde_json::from_slice(json).map_err(|_| UNREADABLE)
    }

    pub fn to_json(&self) -> Result<Vec<u8>, Fault> {
        serde_json::to_vec(self).map_err(|_| UNREADABLE)
    }

    /// Takes a claim over, unless it is older.
    pub fn take_claim(&mut self, claim: &Claim) {
        if claim.epoch() >= self.epoch {
            (self.epoch, self.expires_at_s) = (claim.epoch(), claim.expires_at_s());
        }
    }

    pub fn claim(&self, call_id: &CallId) -> Claim {
        Claim::restored(call_id.clone(), self.epoch, self.expires_at_s)
    }
}

impl From<&CallHeader> for HeaderRow {
    fn from(header: &CallHeader) -> Self {
        Self {
            started_ms: header.started_ms(),
            tenant: header.tenant().map(|tenant| tenant.as_str().to_owned()),
            expires_at_s: header.expires_at_s(),
            epoch: header.epoch(),
            ending: header.ending().map(EndingRow::from),
            is_held: header.is_held(),
        }
    }
}

impl HeaderRow {
    pub fn header(self, call_id: &CallId) -> Result<CallHeader, Fault> {
        let read = || -> Result<CallHeader, LogError> {
            let mut header = CallHeader::new(call_id.clone(), self.started_ms)?;
            if let Some(tenant) = self.tenant {
                header = header.with_tenant(Tenant::new(tenant)?);
            }
            if let Some(at_s) = self.expires_at_s {
                header = header.with_expires_at(at_s);
            }
            Ok(header)
        };
        let ending = self.ending.map(EndingRow::ending).transpose()?;
        Ok(read().map_err(|_| UNREADABLE)?.with_state(self.epoch, ending, self.is_held))
    }
}

impl From<&Ending> for EndingRow {
    fn from(ending: &Ending) -> Self {
        let reason = ending.reason.as_ref().to_owned();
        Self { at_ms: ending.at_ms, reason, messages: ending.messages, summaries: ending.summaries }
    }
}

impl EndingRow {
    pub fn ending(self) -> Result<Ending, Fault> {
        Ending::new(self.at_ms, self.reason, self.messages, self.summaries).map_err(|_| UNREADABLE)
    }
}

const UNREADABLE: Fault = Fault::Unreadable("a call in it does not read");
