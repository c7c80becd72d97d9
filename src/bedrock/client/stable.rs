//! The bytes of a request, in an order that does not change from turn to turn.

use aws_sdk_bedrockruntime::config::http::HttpRequest;
use aws_smithy_types::body::SdkBody;
use serde_json::Value as Json;

/// Sorts the keys of all objects in the body, before it is signed.
///
/// The SDK writes the schemas of tools and the input of calls from hash maps: in another order in each request. A prompt
/// cache, which compares what stands in front of its points, would never be read.
pub(super) fn stabilise(request: &mut HttpRequest) {
    if let Some(body) = stable(request.body()) {
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
    }
}

/// `None` where it is no JSON.
fn stable(body: &SdkBody) -> Option<Vec<u8>> {
    let mut json: Json = serde_json::from_slice(body.bytes()?).ok()?;
    json.sort_all_objects();
    serde_json::to_vec(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth_and_nothing_else_changes() {
        let body = SdkBody::from(r#"{"b":[{"d":1e3,"c":-0.5}],"a":"\u0001é\/","é":18446744073709551615}"#);
        let mut request = HttpRequest::new(body);
        request.headers_mut().insert("content-length", "1");
        stabilise(&mut request);
        let expected = r#"{"a":"\u0001é/","b":[{"c":-0.5,"d":1000.0}],"é":18446744073709551615}"#;
        assert_eq!(request.body().bytes(), Some(expected.as_bytes()));
        assert_eq!(request.headers().get("content-length"), Some(expected.len().to_string().as_str()));
    }
}
