//! Sorts the keys of a request, so that equal requests have equal bytes.

use aws_sdk_bedrockruntime::config::http::HttpRequest;
use aws_smithy_types::body::SdkBody;
use serde_json::Value as Json;

/// Sorts the keys of all objects in the body, before it is signed.
///
/// The SDK writes tool schemas and tool inputs from hash maps, in a different order each time. Without sorting, the prefix
/// before a cache point would never match the prompt cache.
pub(super) fn sort_keys(request: &mut HttpRequest) {
    if let Some(body) = sorted(request.body()) {
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
    }
}

/// Returns `None` if the body is not JSON.
fn sorted(body: &SdkBody) -> Option<Vec<u8>> {
    let mut json: Json = serde_json::from_slice(body.bytes()?).ok()?;
    json.sort_all_objects();
    serde_json::to_vec(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_changes_only_the_order_of_keys() {
        let body = SdkBody::from(r#"{"b":[{"d":1e3,"c":-0.5}],"a":"\u0001é\/","é":18446744073709551615}"#);
        let mut request = HttpRequest::new(body);
        request.headers_mut().insert("content-length", "1");
        sort_keys(&mut request);
        let expected = r#"{"a":"\u0001é/","b":[{"c":-0.5,"d":1000.0}],"é":18446744073709551615}"#;
        assert_eq!(request.body().bytes(), Some(expected.as_bytes()));
        assert_eq!(request.headers().get("content-length"), Some(expected.len().to_string().as_str()));
    }
}
