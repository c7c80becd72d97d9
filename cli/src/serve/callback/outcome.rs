//! What the answer of a service means for a tool call: its result, a failure, or an outcome that is not known.

use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::http::response::Parts;
use serde::Deserialize;
use serde_json::Value;
use verbale::message::ToolError;

use crate::serve::tools::{Output, output};

/// The type of an error after which the tool may have acted.
const UNKNOWN: &str = "OutcomeUnknown";

/// A request that got no result.
pub struct Failed {
    /// Without words of the service, which the model must not take for its own.
    why: String,
    pub may_have_acted: bool,
    pub retry: Retry,
}

/// Whether another attempt may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Never,
    /// After this time, if the service named one.
    After(Option<Duration>),
}

/// The body of an answer: that of a `tool_result`.
#[derive(Deserialize)]
struct ToolResult {
    #[serde(default)]
    not_found: bool,
    /// A null is an output, too.
    #[serde(default, deserialize_with = "present")]
    output: Option<Value>,
    #[serde(default)]
    error: Option<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Failed {
    /// The service did not get the request.
    pub fn not_sent(why: &str) -> Self {
        Self { why: why.to_owned(), may_have_acted: false, retry: Retry::After(None) }
    }

    /// The service may have got the request, and acted.
    pub fn unclear(why: &str, retry: Retry) -> Self {
        Self { why: why.to_owned(), may_have_acted: true, retry }
    }

    /// Returns the error for the model.
    pub fn error(&self, may_act: bool, may_have_acted: bool) -> ToolError {
        let why = &self.why;
        match (may_act, may_have_acted) {
            (true, true) => unknown(&format!("{why}; whether it acted is not known.")),
            (true, false) => ToolError::new(format!("{why}; it did not act.")),
            (false, _) => ToolError::new(format!("{why}.")),
        }
    }
}

fn unknown(message: &str) -> ToolError {
    ToolError::new(message).with_type(UNKNOWN).with_retryable(false)
}

/// Returns the output of a tool. After an earlier attempt that may have acted, an error does not say what became of that.
pub fn told(output: Output, may_have_acted: bool) -> Output {
    output.map_err(|error| match may_have_acted {
        true => unknown(&format!("An earlier attempt may have acted. The tool says: {}", error.message())),
        false => error,
    })
}

/// Reads an answer. `body` is `None` if it broke off or is too long.
pub fn read(head: &Parts, body: Option<&[u8]>) -> Result<Output, Failed> {
    let status = head.status;
    let result = body
        .and_then(|body| serde_json::from_slice::<ToolResult>(body).ok())
        .and_then(|result| output(result.output, result.error, result.not_found).ok());
    if status.is_success() {
        let unreadable = "The answer of the tool's service breaks off, is too long, or is no result of a tool";
        return result.ok_or_else(|| Failed::unclear(unreadable, Retry::Never));
    }
    let why = format!("The service of the tool answered with the status {}", status.as_u16());
    let retry = Retry::After(retry_after(head));
    match status {
        StatusCode::TOO_MANY_REQUESTS => Err(Failed { why, may_have_acted: false, retry }),
        // The request arrived in part, or the same one is under way.
        StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_EARLY => Err(Failed::unclear(&why, retry)),
        _ if status.is_server_error() => Err(Failed::unclear(&why, retry)),
        _ if status.is_client_error() => match result {
            Some(Err(error)) => Ok(Err(error)),
            _ => Err(Failed { why, may_have_acted: false, retry: Retry::Never }),
        },
        // A service that redirects may have acted before.
        _ => Err(Failed::unclear(&why, Retry::Never)),
    }
}

/// Returns the seconds in `Retry-After`. A date is ignored.
fn retry_after(head: &Parts) -> Option<Duration> {
    head.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use axum::http::Response;

    use super::*;

    #[test]
    fn outcome_is_known_only_if_the_service_says_it() {
        let of = |status: u16, body: &str| {
            let head = Response::builder().status(status).header(RETRY_AFTER, "2").body(()).unwrap().into_parts().0;
            match read(&head, Some(body.as_bytes())) {
                Ok(Ok(Some(contents))) => format!("{contents:?}").chars().take_while(|c| *c != '(').collect(),
                Ok(Ok(None)) => "not found".to_owned(),
                Ok(Err(error)) => format!("error: {}", error.message()),
                Err(failed) => format!("{} {:?}", failed.may_have_acted, failed.retry),
            }
        };
        let after = "After(Some(2s))";
        for (status, body, expected) in [
            (200, r#"{"error": "no seat is free"}"#, "error: no seat is free".to_owned()),
            (200, r#"{"not_found": true}"#, "not found".to_owned()),
            (200, "", "true Never".to_owned()),
            (200, "{}", "true Never".to_owned()),
            (200, "<html>", "true Never".to_owned()),
            (200, r#"{"output": 1, "error": "x"}"#, "true Never".to_owned()),
            (422, r#"{"error": "no seat is free"}"#, "error: no seat is free".to_owned()),
            (422, r#"{"output": "booked"}"#, "false Never".to_owned()),
            (404, "not here", "false Never".to_owned()),
            (303, "", "true Never".to_owned()),
            (307, r#"{"output": 1}"#, "true Never".to_owned()),
            (429, "", format!("false {after}")),
            (409, "", format!("true {after}")),
            (500, r#"{"error": "oops"}"#, format!("true {after}")),
            (503, "", format!("true {after}")),
        ] {
            assert_eq!(of(status, body), expected, "{status} {body}");
        }
        assert!(of(200, r#"{"output": null}"#).starts_with('['), "a null is an output");
    }

    #[test]
    fn error_says_whether_the_tool_acted() {
        let failed = Failed::not_sent("The service of the tool cannot be reached");
        let shown = |error: ToolError| format!("{} {:?}", error.message(), error.error_type());
        let why = "The service of the tool cannot be reached";
        assert_eq!(shown(failed.error(true, false)), format!("{why}; it did not act. None"));
        assert_eq!(
            shown(failed.error(true, true)),
            format!("{why}; whether it acted is not known. Some(\"OutcomeUnknown\")")
        );
        assert_eq!(shown(failed.error(false, false)), format!("{why}. None"));
        let late = told(Err(ToolError::new("no seat is free")), true).unwrap_err();
        assert_eq!(late.error_type(), Some(UNKNOWN));
    }
}
