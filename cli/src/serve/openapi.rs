//! The OpenAPI document of the HTTP interface. The routes themselves make it; `docs/openapi.json` is a copy.

use std::sync::Arc;

use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_axum::router::OpenApiRouter;

use super::Server;
use super::protocol::VERSION;

/// Returns a router whose routes are described.
pub fn document() -> OpenApiRouter<Arc<Server>> {
    let info = InfoBuilder::new()
        .title("verbale serve")
        .version(VERSION.to_string())
        .description(Some(
            "Calls of voice services. A socket has the messages of docs/socket.schema.json. An error is \
             `{\"error\": \"...\"}`, at /v1/chat/completions that of OpenAI.",
        ))
        .build();
    let components = ["call", "read", "admin"].into_iter().fold(ComponentsBuilder::new(), |components, scope| {
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(format!("a token with the scope {scope}; none is needed on localhost without --tokens")))
            .build();
        components.security_scheme(scope, SecurityScheme::Http(token))
    });
    let signature = "signed with the auth token of the Twilio account; without one, a token with the scope call";
    let signature = ApiKey::Header(ApiKeyValue::with_description("X-Twilio-Signature", signature));
    let components = components.security_scheme("twilio", SecurityScheme::ApiKey(signature));
    OpenApiRouter::with_openapi(OpenApiBuilder::new().info(info).components(Some(components.build())).build())
}

/// Returns the document as JSON.
pub fn text(document: &OpenApi) -> String {
    // Its keys are strings, so it always becomes JSON.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}
