//! The errors of DynamoDB.

use serde_json::json;

use super::attribute::Item;

/// A response with status 400 or 500 and a type.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceError {
    pub status: u16,
    /// The type without its namespace, such as `ValidationException`.
    pub kind: &'static str,
    pub message: String,
    /// The existing item, if a condition was false.
    pub item: Option<Item>,
}

impl ServiceError {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { status: 400, kind, message: message.into(), item: None }
    }

    pub fn validation(message: impl Into<String>) -> Self {
        Self::new("ValidationException", message)
    }

    /// Returns the error for an invalid parameter value.
    pub fn invalid(message: impl AsRef<str>) -> Self {
        Self::validation(format!("One or more parameter values were invalid: {}", message.as_ref()))
    }

    pub fn condition_failed(item: Option<Item>) -> Self {
        Self { item, ..Self::new("ConditionalCheckFailedException", "The conditional request failed") }
    }

    pub fn no_table() -> Self {
        Self::new("ResourceNotFoundException", "Requested resource not found")
    }

    pub fn throttled() -> Self {
        let message = "The level of configured provisioned throughput for the table was exceeded. Consider increasing \
                       your provisioning level with the UpdateTable API.";
        Self::new("ProvisionedThroughputExceededException", message)
    }

    pub fn denied(operation: &str) -> Self {
        let message =
            format!("User: arn:aws:iam::123456789012:user/test is not authorized to perform: dynamodb:{operation}");
        Self::new("AccessDeniedException", message)
    }

    pub fn expired_token() -> Self {
        Self::new("ExpiredTokenException", "The security token included in the request is expired")
    }

    pub fn internal() -> Self {
        Self { status: 500, ..Self::new("InternalServerError", "Internal server error") }
    }

    pub fn to_body(&self) -> String {
        let space = match self.kind {
            "ValidationException" => "com.amazon.coral.validate",
            "AccessDeniedException"
            | "ExpiredTokenException"
            | "InvalidSignatureException"
            | "SerializationException"
            | "UnknownOperationException" => "com.amazon.coral.service",
            _ => "com.amazonaws.dynamodb.v20120810",
        };
        let mut body = json!({"__type": format!("{space}#{}", self.kind), "message": self.message});
        if let Some(item) = &self.item {
            body["Item"] = json!(item);
        }
        body.to_string()
    }
}
