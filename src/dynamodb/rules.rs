//! The rules of an item's epochs: which write may replace an existing item, and which items a read returns.
//!
//! [`put`], [`put_span`], [`update_span`], [`stamp`] and [`fence`] are the conditions of the writes. [`Slot`] has the same
//! rules as pure functions. The explorer of the takeover runs those, and a test compares both.

use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

use super::{Item, item, names, span};
use crate::log::WriterLease;

/// The item that a write finds at its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot<I> {
    Free,
    Erased,
    Fence { epoch: u32 },
    Record { epoch: u32, id: I, revision: u32 },
}

impl<I> Slot<I> {
    /// Whether a read returns the record: no fenced writer wrote it too late.
    pub fn is_shown(&self, served: u32) -> bool {
        matches!(self, Self::Record { epoch, .. } if *epoch >= served)
    }
}

#[cfg(test)]
impl<I: PartialEq> Slot<I> {
    /// Whether a writer may put a revision of a message here. `served` is the epoch at which the writer began to serve.
    ///
    /// It may write at a free position, over an item that no read returns, over a fence, and over an older revision of
    /// the same message. The fence or revision must not have a higher epoch than the writer.
    pub fn may_put(&self, epoch: u32, served: u32, id: &I, revision: u32) -> bool {
        let is_older =
            matches!(self, Self::Record { id: same, revision: older, .. } if same == id && *older < revision);
        self.may_put_span(epoch, served) || is_older && self.may_update(epoch, served)
    }

    /// Whether a writer may put all messages of a span here: at a free position, over a fence, or over an item that no
    /// read returns. The put replaces the whole item, so no message of a fenced writer stays in it. A span of a single
    /// message may also replace an older revision of it, as in [`may_put`](Self::may_put).
    pub fn may_put_span(&self, epoch: u32, served: u32) -> bool {
        match self {
            Self::Free => true,
            Self::Erased => false,
            Self::Fence { epoch: found } => *found <= epoch,
            Self::Record { epoch: found, .. } => *found < served,
        }
    }

    /// Whether a writer may change messages that have older revisions in a span: reads return the span, and its epoch
    /// is no higher than the writer's.
    pub fn may_update(&self, epoch: u32, served: u32) -> bool {
        matches!(self, Self::Record { epoch: found, .. } if (served..=epoch).contains(found))
    }

    /// Whether a candidate may give its epoch to a record that it has read at this revision.
    pub fn may_stamp(&self, epoch: u32, read: u32) -> bool {
        matches!(self, Self::Record { epoch: found, revision, .. } if *found <= epoch && *revision == read)
    }

    /// Whether a candidate may put its fence here. `served` is the epoch at which the writer before it began to serve.
    pub fn may_fence(&self, epoch: u32, served: u32) -> bool {
        match self {
            Self::Free => true,
            Self::Erased => false,
            Self::Fence { epoch: found } => *found <= epoch,
            Self::Record { epoch: found, .. } => *found < served,
        }
    }
}

impl Slot<()> {
    /// Returns the state of an item, without its message.
    pub fn of(found: Option<&Item>) -> Self {
        let Some(found) = found else { return Self::Free };
        let epoch = item::epoch(found);
        if item::is_erased(found) {
            Self::Erased
        } else if item::is_fence(found) {
            Self::Fence { epoch }
        } else {
            let revision = item::read_number(found, item::name_of_revision(found)).unwrap_or_default();
            Self::Record { epoch, id: (), revision }
        }
    }
}

/// The condition of a write, with the names and values that it uses.
#[derive(Default)]
pub(super) struct Condition {
    text: String,
    names: Vec<(String, String)>,
    values: Vec<(String, AttributeValue)>,
}

impl Condition {
    pub fn of_put(self, mut request: PutItemFluentBuilder) -> PutItemFluentBuilder {
        for (placeholder, name) in self.names {
            request = request.expression_attribute_names(placeholder, name);
        }
        for (placeholder, value) in self.values {
            request = request.expression_attribute_values(placeholder, value);
        }
        request.condition_expression(self.text)
    }

    pub fn of_update(self, mut request: UpdateItemFluentBuilder) -> UpdateItemFluentBuilder {
        for (placeholder, name) in self.names {
            request = request.expression_attribute_names(placeholder, name);
        }
        for (placeholder, value) in self.values {
            request = request.expression_attribute_values(placeholder, value);
        }
        request.condition_expression(self.text)
    }

    fn name(&mut self, placeholder: impl Into<String>, name: impl Into<String>) {
        self.names.push((placeholder.into(), name.into()));
    }

    fn value(&mut self, placeholder: impl Into<String>, value: AttributeValue) {
        self.values.push((placeholder.into(), value));
    }

    /// Adds the alternative that the item is a record which no read returns. Before the first takeover, no such item
    /// exists.
    fn or_late(&mut self, served: u32) {
        if served > 1 {
            self.value(":served", item::number(served));
            self.value(":erased", item::text(names::ENTITY_ERASED));
            self.text +=
                " OR (#entity <> :erased AND #entity <> :fence AND (attribute_not_exists(#epoch) OR #epoch < :served))";
        }
    }
}

/// A revision of a message in a span.
pub(super) struct Member {
    pub seq: u32,
    pub id: String,
    pub revision: u32,
}

/// The condition of [`Slot::may_put`].
pub(super) fn put(lease: &WriterLease, id: &str, revision: u32) -> Condition {
    let mut condition = Condition::default();
    condition.name("#id", names::ID);
    condition.name("#revision", names::REVISION);
    condition.value(":id", item::text(id));
    condition.value(":revision", item::number(revision));
    put_over(lease, condition, Some("#id = :id AND #revision < :revision"))
}

/// The condition of [`Slot::may_put_span`]. `alone` is the only message of the span, if it has no others.
pub(super) fn put_span(lease: &WriterLease, alone: Option<Member>) -> Condition {
    let mut condition = Condition::default();
    let Some(alone) = alone else { return put_over(lease, condition, None) };
    condition.name("#last", names::LAST);
    condition.value(":last", item::number(alone.seq));
    let older = format!("#last = :last AND {}", older(&mut condition, 0, &alone));
    put_over(lease, condition, Some(&older))
}

fn put_over(lease: &WriterLease, mut condition: Condition, older: Option<&str>) -> Condition {
    "attribute_not_exists(#pk)".clone_into(&mut condition.text);
    condition.name("#pk", names::PARTITION_KEY);
    let older = older.map(|older| format!("({older})"));
    if lease.epoch() == 1 {
        if let Some(older) = older {
            // An item without an epoch is never a fence, and a mark has no message.
            condition.text += &format!(" OR (attribute_not_exists(#epoch) AND {older})");
            condition.name("#epoch", names::EPOCH);
        }
        return condition;
    }
    let replaced =
        older.map_or_else(|| "#entity = :fence".to_owned(), |older| format!("(#entity = :fence OR {older})"));
    condition.text += &format!(" OR ((attribute_not_exists(#epoch) OR #epoch <= :epoch) AND {replaced})");
    condition.name("#epoch", names::EPOCH);
    condition.name("#entity", names::ENTITY);
    condition.value(":epoch", item::number(lease.epoch()));
    condition.value(":fence", item::text(names::ENTITY_FENCE));
    condition.or_late(lease.served());
    condition
}

/// The condition of [`Slot::may_update`], and that each message has an older revision in the span. The request must
/// define the names `#m0`, `#m1` and so on of the messages, and `#epoch`; if the lease has an epoch above 1, also the
/// value `:epoch`.
pub(super) fn update_span(lease: &WriterLease, members: &[Member]) -> Condition {
    let mut condition = Condition::default();
    condition.name("#epoch", names::EPOCH);
    condition.text = match (lease.epoch(), lease.served()) {
        (1, _) => "attribute_not_exists(#epoch)",
        (_, 1) => "(attribute_not_exists(#epoch) OR #epoch <= :epoch)",
        _ => "#epoch BETWEEN :served AND :epoch",
    }
    .to_owned();
    if lease.epoch() > 1 {
        condition.value(":epoch", item::number(lease.epoch()));
    }
    if lease.served() > 1 {
        condition.value(":served", item::number(lease.served()));
    }
    for (index, member) in members.iter().enumerate() {
        let older = older(&mut condition, index, member);
        condition.text += &format!(" AND {older}");
    }
    condition
}

/// Returns the condition that a span has an older revision of a message.
fn older(condition: &mut Condition, index: usize, member: &Member) -> String {
    if index == 0 {
        condition.name("#id", names::ID);
        condition.name("#revision", names::REVISION);
    }
    condition.name(format!("#m{index}"), span::name_of(member.seq));
    condition.value(format!(":i{index}"), item::text(&member.id));
    condition.value(format!(":r{index}"), item::number(member.revision));
    format!("#m{index}.#id = :i{index} AND #m{index}.#revision < :r{index}")
}

/// The condition of [`Slot::may_stamp`]. `name` is the attribute that counts the item's changes; a damaged item may
/// have none.
pub(super) fn stamp(epoch: u32, name: &str, read: Option<AttributeValue>) -> Condition {
    let mut condition = Condition::default();
    let revision = if read.is_some() {
        "#revision = :revision"
    } else {
        condition.name("#pk", names::PARTITION_KEY);
        "attribute_exists(#pk) AND attribute_not_exists(#revision)"
    };
    condition.text = format!("{revision} AND (attribute_not_exists(#epoch) OR #epoch <= :epoch)");
    condition.name("#epoch", names::EPOCH);
    condition.name("#revision", name);
    condition.value(":epoch", item::number(epoch));
    if let Some(read) = read {
        condition.value(":revision", read);
    }
    condition
}

/// The condition of [`Slot::may_fence`].
pub(super) fn fence(epoch: u32, served: u32) -> Condition {
    let mut condition = Condition {
        text: "attribute_not_exists(#pk) OR (#entity = :fence AND #epoch <= :epoch)".to_owned(),
        ..Condition::default()
    };
    condition.name("#pk", names::PARTITION_KEY);
    condition.name("#entity", names::ENTITY);
    condition.name("#epoch", names::EPOCH);
    condition.value(":epoch", item::number(epoch));
    condition.value(":fence", item::text(names::ENTITY_FENCE));
    condition.or_late(served);
    condition
}

#[cfg(all(test, feature = "embedded"))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
