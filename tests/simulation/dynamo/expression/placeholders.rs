//! The values of the placeholders `#name` and `:value`, and which of them are used.

use std::collections::{BTreeMap, BTreeSet};

use super::super::attribute::Attribute;
use super::super::error::ServiceError;

#[derive(Default)]
pub struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, Attribute>,
    used: BTreeSet<String>,
}

impl Placeholders {
    /// Reads the placeholders. `has_expression` is whether an expression could use them.
    pub fn new(
        names: Option<BTreeMap<String, String>>,
        values: Option<BTreeMap<String, Attribute>>,
        has_expression: bool,
    ) -> Result<Self, ServiceError> {
        let given = [("ExpressionAttributeNames", names.as_ref().map(BTreeMap::len))]
            .into_iter()
            .chain([("ExpressionAttributeValues", values.as_ref().map(BTreeMap::len))]);
        for (parameter, count) in given {
            match count {
                Some(_) if !has_expression => {
                    let message = format!("{parameter} can only be specified when using expressions");
                    return Err(ServiceError::validation(message));
                }
                Some(0) => return Err(ServiceError::validation(format!("{parameter} must not be empty"))),
                _ => {}
            }
        }
        let mut values = values.unwrap_or_default();
        for (placeholder, value) in &mut values {
            value.check().map_err(|error| {
                let inner = error.message;
                let message =
                    format!("ExpressionAttributeValues contains invalid value: {inner} for key {placeholder}");
                ServiceError::validation(message)
            })?;
        }
        Ok(Self { names: names.unwrap_or_default(), values, used: BTreeSet::new() })
    }

    pub fn name(&mut self, parameter: &str, placeholder: &str) -> Result<String, ServiceError> {
        self.used.insert(placeholder.to_owned());
        self.names.get(placeholder).cloned().ok_or_else(|| {
            ServiceError::validation(format!(
                "Invalid {parameter}: An expression attribute name used in the document path is not defined; \
                 attribute name: {placeholder}"
            ))
        })
    }

    pub fn value(&mut self, parameter: &str, placeholder: &str) -> Result<Attribute, ServiceError> {
        self.used.insert(placeholder.to_owned());
        self.values.get(placeholder).cloned().ok_or_else(|| {
            ServiceError::validation(format!(
                "Invalid {parameter}: An expression attribute value used in expression is not defined; attribute \
                 value: {placeholder}"
            ))
        })
    }

    /// Refuses placeholders that no expression used.
    pub fn all_used(&self) -> Result<(), ServiceError> {
        self.unused("Names", self.names.keys())?;
        self.unused("Values", self.values.keys())
    }

    fn unused<'a>(&self, what: &str, keys: impl Iterator<Item = &'a String>) -> Result<(), ServiceError> {
        let unused: Vec<&str> = keys.filter(|key| !self.used.contains(*key)).map(String::as_str).collect();
        if unused.is_empty() {
            return Ok(());
        }
        Err(ServiceError::validation(format!(
            "Value provided in ExpressionAttribute{what} unused in expressions: keys: {{{}}}",
            unused.join(", ")
        )))
    }
}
