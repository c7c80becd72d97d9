//! The operations of the engine by name, from JSON to JSON or a typed error.

use dynoxide::{Database, DynoxideError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The response to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Runs `operation`, such as `PutItem`, on a request in JSON. Blocks.
pub(super) fn answer(database: &Database, operation: &str, request: &[u8]) -> Answer {
    match run(database, operation, request) {
        Ok(Some(body)) => Answer { status: 200, body },
        Ok(None) => Answer { status: 400, body: UNKNOWN_OPERATION.to_owned() },
        Err(error) => Answer { status: error.status_code(), body: error.to_json() },
    }
}

const UNKNOWN_OPERATION: &str =
    r#"{"__type":"com.amazon.coral.service#UnknownOperationException","message":"not an operation of this database"}"#;

const EMPTY_VALUE: &str = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";

/// Runs an operation. Returns `None` if the engine does not have it.
fn run(db: &Database, operation: &str, request: &[u8]) -> Result<Option<String>, DynoxideError> {
    let call = Call { operation, request };
    match operation {
        "BatchExecuteStatement" => call.run(|request| db.batch_execute_statement(request)),
        "BatchGetItem" => call.run(|request| db.batch_get_item(request)),
        "BatchWriteItem" => call.run(|request| db.batch_write_item(request)),
        "CreateTable" => call.run(|request| db.create_table(request)),
        "DeleteItem" => call.run(|request| db.delete_item(request)),
        "DeleteTable" => call.run(|request| db.delete_table(request)),
        "DescribeStream" => call.run(|request| db.describe_stream(request)),
        "DescribeTable" => call.run(|request| db.describe_table(request)),
        "DescribeTimeToLive" => call.run(|request| db.describe_time_to_live(request)),
        "ExecuteStatement" => call.run(|request| db.execute_statement(request)),
        "ExecuteTransaction" => call.run(|request| db.execute_transaction(request)),
        "GetItem" => call.run(|request| db.get_item(request)),
        "GetRecords" => call.run(|request| db.get_records(request)),
        "GetShardIterator" => call.run(|request| db.get_shard_iterator(request)),
        "ListStreams" => call.run(|request| db.list_streams(request)),
        "ListTables" => call.run(|request| db.list_tables(request)),
        "ListTagsOfResource" => call.run(|request| db.list_tags_of_resource(request)),
        "PutItem" => call.run(|request| db.put_item(request)),
        "Query" => call.run(|request| db.query(request)),
        "Scan" => call.run(|request| db.scan(request)),
        "TagResource" => call.run(|request| db.tag_resource(request)),
        "TransactGetItems" => call.run(|request| db.transact_get_items(request)),
        "TransactWriteItems" => call.run(|request| db.transact_write_items(request)),
        "UntagResource" => call.run(|request| db.untag_resource(request)),
        "UpdateItem" => call.run(|request| db.update_item(request)),
        "UpdateTable" => call.run(|request| db.update_table(request)),
        "UpdateTimeToLive" => call.run(|request| db.update_time_to_live(request)),
        _ => Ok(None),
    }
}

struct Call<'a> {
    operation: &'a str,
    request: &'a [u8],
}

impl Call<'_> {
    fn run<Request: DeserializeOwned, Response: Serialize>(
        &self,
        operation: impl FnOnce(Request) -> Result<Response, DynoxideError>,
    ) -> Result<Option<String>, DynoxideError> {
        let request = serde_json::from_slice(self.request).map_err(|error| self.refusal(&error.to_string()))?;
        let response = operation(request)?;
        serde_json::to_string(&response)
            .map(Some)
            .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
    }

    /// Maps an error of deserialization as the engine's own server does: by the prefix that names an error of DynamoDB, or
    /// else by the text of serde.
    fn refusal(&self, message: &str) -> DynoxideError {
        let without_position = message.rfind(" at line ").and_then(|at| message.get(..at)).unwrap_or(message);
        let marked = |prefix: &str| without_position.strip_prefix(prefix).map(str::to_owned);
        if let Some(message) = marked("SERIALIZATION_AS_READ:").or_else(|| marked("SERIALIZATION:")) {
            return DynoxideError::SerializationException(message);
        }
        if let Some(message) = marked("VALIDATION_AS_READ:").or_else(|| marked("VALIDATION:")) {
            return DynoxideError::ValidationException(message);
        }
        if let Some(message) = marked("VALIDATION_REQUEST:") {
            let is_write = matches!(self.operation, "PutItem" | "UpdateItem" | "DeleteItem");
            let envelope = if is_write { "1 validation error detected: " } else { "" };
            return DynoxideError::ValidationException(format!("{envelope}{message}"));
        }
        if message.contains("empty AttributeValue") {
            return DynoxideError::ValidationException(EMPTY_VALUE.to_owned());
        }
        let is_validation = ["missing field", "unknown variant", "invalid type: null", "Supplied AttributeValue"];
        if is_validation.iter().any(|text| message.contains(text)) {
            DynoxideError::ValidationException(without_position.to_owned())
        } else {
            DynoxideError::SerializationException(without_position.to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(operation: &str, request: &str) -> (u16, String, String) {
        let answer = answer(&Database::memory().unwrap(), operation, request.as_bytes());
        let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        (answer.status, text("__type"), text("message") + &text("Message"))
    }

    #[test]
    fn unknown_operation_has_its_own_error() {
        let (status, kind, _) = refused("ExportTableToPointInTime", "{}");
        assert_eq!((status, kind.as_str()), (400, "com.amazon.coral.service#UnknownOperationException"));
    }

    #[test]
    fn invalid_request_gets_the_error_of_aws() {
        let validation = "com.amazon.coral.validate#ValidationException";
        let serialization = "com.amazon.coral.service#SerializationException";
        for (request, kind, message) in [
            (
                r#"{"TableName": "abc", "Item": {"pk": {"NULL": false}}}"#,
                validation,
                "1 validation error detected: One or more parameter values were invalid: Null attribute value types must have the value of true",
            ),
            (r#"{"TableName": "abc", "Item": {"pk": {}}}"#, validation, "Supplied AttributeValue is empty"),
            ("{", serialization, "EOF"),
            (r#"{"TableName": 7}"#, serialization, ""),
        ] {
            let (status, found_kind, found) = refused("PutItem", request);
            assert_eq!((status, found_kind.as_str()), (400, kind), "{request}: {found}");
            assert!(found.starts_with(message), "{request}: {found}");
        }
    }

    #[test]
    fn markers_of_the_engine_are_removed() {
        let call = Call { operation: "GetItem", request: b"" };
        for marker in
            ["SERIALIZATION_AS_READ:", "SERIALIZATION:", "VALIDATION_AS_READ:", "VALIDATION:", "VALIDATION_REQUEST:"]
        {
            assert_eq!(call.refusal(&format!("{marker}reason at line 1 column 7")).to_string(), "reason");
        }
    }
}
