//! Changes of a call as a whole: what is done to its header.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::write::Written;
use super::{DynamoError, DynamoLog, Item, header, item, names};
use crate::log::{CallChange, CallEnd, CallHeader, CallId, LogError, WriterLease};

/// The header is there, is that of a call, and has not expired.
const LIVE: &str = "#entity = :call AND (attribute_not_exists(#expires) OR #expires > :now)";

impl DynamoLog {
    /// Changes the call as a whole, and gives its header as it is then: see [`CallChange`]. To close a call takes one
    /// request; [`resume`](Self::resume) and [`hold`](Self::hold) say what they take.
    ///
    /// Errors: never opened, or expired; erased; closed by a writer that is fenced (nothing is written); a request that
    /// failed, after which the change is to be made again.
    pub(super) async fn change(&self, call_id: &CallId, change: &CallChange) -> Result<CallHeader, DynamoError> {
        match change {
            CallChange::Resume => Ok(self.take_over(call_id).await?.header),
            CallChange::Close { lease, call_end } => self.close(call_id, lease, call_end).await,
            CallChange::Hold => self.hold(call_id).await,
            CallChange::Release => self.release(call_id).await,
        }
    }

    async fn close(
        &self,
        call_id: &CallId,
        lease: &WriterLease,
        call_end: &CallEnd,
    ) -> Result<CallHeader, DynamoError> {
        let number = |number: i64| AttributeValue::N(number.to_string());
        let (mut set, mut request) = (String::new(), self.header_update(call_id));
        for (name, value) in [
            (names::ENDED, Some(number(call_end.at_ms))),
            (names::REASON, Some(AttributeValue::S(call_end.reason.to_string()))),
            (names::MESSAGES, Some(number(call_end.messages.into()))),
            (names::SUMMARIES, Some(number(call_end.summaries.into()))),
            (names::LAST_SEQ, call_end.last_seq().map(|seq| number(seq.into()))),
        ] {
            let Some(value) = value else { continue };
            set += &format!("{} #{name} = :{name}", if set.is_empty() { "SET" } else { "," });
            request = request
                .expression_attribute_names(format!("#{name}"), name)
                .expression_attribute_values(format!(":{name}"), value);
        }
        let request = request
            .update_expression(set)
            .condition_expression(format!(
                "{LIVE} AND attribute_not_exists(#ended) AND (attribute_not_exists(#epoch) OR #epoch <= :epoch)"
            ))
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_values(":epoch", number(lease.epoch().into()));
        let item = match self.update_header(call_id, request).await? {
            Written::Done(item) => item,
            Written::Refused(Some(found)) if self.is_live(&found) => {
                let current = item::epoch(&found);
                if current > lease.epoch() {
                    return Err(LogError::fenced(call_id, lease.epoch(), current).into());
                }
                found
            }
            Written::Refused(found) => return Err(not_there(call_id, found.as_ref())),
        };
        let header = header::from_item(&item)?;
        self.settle_expiry(&header, lease).await?;
        Ok(header)
    }

    /// An update of the header, but for its expression and for what its condition has beside [`LIVE`].
    pub(super) fn header_update(&self, call_id: &CallId) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .key(names::PARTITION_KEY, AttributeValue::S(call_id.partition_key()))
            .key(names::SORT_KEY, AttributeValue::S(names::HEADER.to_owned()))
            .condition_expression(LIVE)
            .expression_attribute_names("#entity", names::ENTITY)
            .expression_attribute_names("#expires", names::EXPIRES_AT)
            .expression_attribute_values(":call", AttributeValue::S(names::ENTITY_CALL.to_owned()))
            .expression_attribute_values(":now", AttributeValue::N(self.now_s().to_string()))
            .return_values(ReturnValue::AllNew)
    }

    pub(super) async fn update_header(
        &self,
        call_id: &CallId,
        request: UpdateItemFluentBuilder,
    ) -> Result<Written, DynamoError> {
        self.send_update(request, || format!("the header of call {call_id} in table {}", self.table)).await
    }

    /// As [`LIVE`] says it.
    pub(super) fn is_live(&self, header: &Item) -> bool {
        let is_call = header.get(names::ENTITY).and_then(|entity| entity.as_s().ok());
        is_call.is_some_and(|entity| entity == names::ENTITY_CALL) && !item::is_expired(header, self.now_s())
    }
}

/// Why a header that is not live cannot be changed.
pub(super) fn not_there(call_id: &CallId, found: Option<&Item>) -> DynamoError {
    let call_id = call_id.clone();
    let is_erased = found.is_some_and(item::is_erased);
    if is_erased { LogError::erased(&call_id) } else { LogError::not_opened(&call_id) }.into()
}
