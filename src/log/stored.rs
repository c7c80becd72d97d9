//! The JSON form of headers and call ends in the files of calls and in the spool.

use serde::{Deserialize, Serialize};

use super::tenure::Nonce;
use super::{CallEnd, CallHeader, CallId, CallerId, LogError, Tenant, Tenure};
use crate::message::Map;

/// A header as JSON. Fields with their initial value are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredHeader {
    id: String,
    started: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    #[serde(default, skip_serializing_if = "is_empty")]
    attributes: Map,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    #[serde(default = "first_epoch", skip_serializing_if = "is_first_epoch")]
    epoch: u32,
    /// The epoch since which the writer serves, if it is lower.
    #[serde(skip_serializing_if = "Option::is_none")]
    fenced: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    taking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<StoredCallEnd>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    held: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredCallEnd {
    at: i64,
    reason: String,
    messages: u32,
    summaries: u32,
}

fn first_epoch() -> u32 {
    1
}

fn is_empty(map: &Map) -> bool {
    map.is_empty()
}

fn is_first_epoch(epoch: &u32) -> bool {
    *epoch == first_epoch()
}

impl From<&CallHeader> for StoredHeader {
    fn from(header: &CallHeader) -> Self {
        let Tenure { epoch, served, nonce, is_contended } = header.tenure();
        Self {
            id: header.call_id().as_str().to_owned(),
            started: header.started_ms(),
            tenant: header.tenant().map(|tenant| tenant.as_str().to_owned()),
            caller: header.caller().map(|caller| caller.as_str().to_owned()),
            attributes: header.attributes().clone(),
            expires: header.expires_at_s(),
            epoch,
            fenced: (served != epoch).then_some(served),
            nonce: (nonce != Nonce::default()).then(|| format!("{:x}", nonce.0)),
            taking: is_contended,
            ended: header.call_end().map(StoredCallEnd::from),
            held: header.is_held(),
        }
    }
}

impl TryFrom<StoredHeader> for CallHeader {
    type Error = LogError;

    fn try_from(stored: StoredHeader) -> Result<Self, LogError> {
        let mut header = Self::new(CallId::new(stored.id)?, stored.started)?;
        if let Some(tenant) = stored.tenant {
            header = header.with_tenant(Tenant::new(tenant)?);
        }
        if let Some(caller) = stored.caller {
            let caller = CallerId::read(&caller);
            header = header.with_caller(caller.ok_or_else(|| LogError::invalid("a caller id", "it has 32 digits"))?);
        }
        header = header.with_attributes(stored.attributes);
        if let Some(at_s) = stored.expires {
            header = header.with_expires_at(at_s);
        }
        let call_end = stored.ended.map(CallEnd::try_from).transpose()?;
        let nonce = match stored.nonce {
            None => Nonce::default(),
            Some(text) => {
                Nonce::read(&text).ok_or_else(|| LogError::invalid("a nonce", "it is a hexadecimal number"))?
            }
        };
        let (epoch, served) = (stored.epoch, stored.fenced.unwrap_or(stored.epoch));
        Ok(header.with_state(Tenure { epoch, served, nonce, is_contended: stored.taking }, call_end, stored.held))
    }
}

impl From<&CallEnd> for StoredCallEnd {
    fn from(call_end: &CallEnd) -> Self {
        let reason = call_end.reason.as_ref().to_owned();
        Self { at: call_end.at_ms, reason, messages: call_end.messages, summaries: call_end.summaries }
    }
}

impl TryFrom<StoredCallEnd> for CallEnd {
    type Error = LogError;

    fn try_from(stored: StoredCallEnd) -> Result<Self, LogError> {
        Self::new(stored.at, stored.reason, stored.messages, stored.summaries)
    }
}
