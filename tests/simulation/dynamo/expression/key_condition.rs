//! Key conditions: one partition, and a range of its sort keys.

use super::super::attribute::Attribute;
use super::super::error::ServiceError;
use super::{Comparator, Condition, Operand, Placeholders};

pub struct KeyCondition {
    pub partition: Attribute,
    /// The condition on the sort key.
    pub sort: Option<Condition>,
}

impl KeyCondition {
    pub fn parse(
        text: &str,
        placeholders: &mut Placeholders,
        partition: &str,
        sort: Option<&str>,
    ) -> Result<Self, ServiceError> {
        let condition = Condition::parse("KeyConditionExpression", text, placeholders)?;
        let (one, other) = match condition {
            Condition::And(one, other) => (*one, Some(*other)),
            condition => (condition, None),
        };
        let is_partition = |condition: &Condition| name_of(condition) == Some(partition);
        let (first, second) =
            if is_partition(&one) { (Some(one), other) } else { (other.filter(is_partition), Some(one)) };
        let missed = || ServiceError::validation(format!("Query condition missed key schema element: {partition}"));
        let Some(Condition::Compare(_, Comparator::Equal, Operand::Value(partition))) = first else {
            return Err(if first.is_none() { missed() } else { unsupported() });
        };
        if let Some(condition) = &second {
            let is_sort = name_of(condition).is_some() && name_of(condition) == sort;
            if matches!(condition, Condition::Compare(_, Comparator::NotEqual, _)) || !is_sort {
                return Err(unsupported());
            }
        }
        Ok(Self { partition, sort: second })
    }
}

fn name_of(condition: &Condition) -> Option<&str> {
    match condition {
        Condition::Compare(Operand::Path(name), _, Operand::Value(_))
        | Condition::Between(Operand::Path(name), Operand::Value(_), Operand::Value(_))
        | Condition::BeginsWith(Operand::Path(name), Operand::Value(_)) => Some(name),
        _ => None,
    }
}

fn unsupported() -> ServiceError {
    ServiceError::validation("Query key condition not supported")
}
