//! [`Urls`] and [`Twiml`]: the URLs of the server, and what it answers to Twilio's requests about a call.
//!
//! The attributes of `<ConversationRelay>` and the parameters of the action:
//! <https://www.twilio.com/docs/voice/twiml/connect/conversationrelay> (read 2026-11-22).

use std::collections::BTreeMap;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

/// The URLs under which Twilio reaches the server. Twilio signs them.
#[derive(Debug, Clone)]
pub struct Urls {
    /// Without a slash at its end.
    http: String,
}

/// Instructions for Twilio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twiml(String);

/// The `reason` in the handoff data of a session that another process should continue.
pub const HANDED_OVER: &str = "handed over";

/// The maximum number of times that a call connects again. Without it, a server that fails for each connection would
/// keep the caller in a loop.
const MAX_RECONNECTS: u32 = 10;

/// The paths of the server.
const AFTER: &str = "/v1/twilio/after";
const RELAY: &str = "/v1/twilio/relay";

/// The attributes that the server sets itself.
const OWN: [&str; 5] = ["url", "welcomeGreeting", "events", "dtmfDetection", "preemptible"];

/// More attributes of `<ConversationRelay>`.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Attributes(BTreeMap<String, String>);

impl Attributes {
    /// Returns what is wrong with an attribute.
    pub fn check(&self) -> Result<(), String> {
        let is_wrong = |name: &&String| {
            OWN.contains(&name.as_str()) || name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        match self.0.keys().find(is_wrong) {
            Some(name) => Err(format!("the server sets the attribute {name:?} itself, or it is none")),
            None => Ok(()),
        }
    }

    fn xml(&self) -> String {
        let mut all = self.0.clone();
        all.entry("interruptible".to_owned()).or_insert_with(|| "any".to_owned());
        all.iter().map(|(name, value)| format!(" {name}=\"{}\"", escaped(value))).collect()
    }
}

impl Urls {
    pub fn new(public_url: &str) -> Self {
        Self { http: public_url.trim_end_matches('/').to_owned() }
    }

    /// Returns the URL of a request, given its path and query.
    pub fn of_request(&self, path: &str) -> String {
        format!("{}{path}", self.http)
    }

    /// Returns the URL of a WebSocket, given its path and query.
    pub fn of_socket(&self, path: &str) -> String {
        // `https` becomes `wss`.
        format!("{}{path}", self.http.replacen("http", "ws", 1))
    }

    /// Connects the call. `reconnects` counts the connections that it had before; `None` if they are too many.
    pub fn connect(&self, reconnects: u32, attributes: &Attributes) -> Option<Twiml> {
        if reconnects > MAX_RECONNECTS {
            return None;
        }
        let action = escaped(&self.of_request(&format!("{AFTER}?reconnects={reconnects}")));
        let (url, attributes) = (escaped(&self.of_socket(RELAY)), attributes.xml());
        // Without `welcomeGreeting`, because a call that connects again is not greeted again. `preemptible` makes the
        // words of a new reply replace those of the reply before.
        Some(Twiml::new(&format!(
            "<Connect action=\"{action}\"><ConversationRelay url=\"{url}\" events=\"speaker-events tokens-played\" \
             dtmfDetection=\"true\" preemptible=\"true\"{attributes}/></Connect>"
        )))
    }
}

impl Twiml {
    pub fn hang_up() -> Self {
        Self::new("<Hangup/>")
    }

    /// Says a sentence and hangs up.
    pub fn say(text: &str) -> Self {
        Self::new(&format!("<Say>{}</Say><Hangup/>", escaped(text)))
    }

    fn new(verbs: &str) -> Self {
        Self(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response>{verbs}</Response>"))
    }
}

impl IntoResponse for Twiml {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "text/xml")], self.0).into_response()
    }
}

/// Why Twilio calls the action of `<Connect>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The connection failed or was handed over, and the caller is still on the line.
    ConnectAgain,
    /// The call is over.
    Over,
}

impl After {
    /// Reads the parameters of the request.
    pub fn read(parameters: &[(String, String)]) -> Self {
        let value = |name: &str| parameters.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        let is_on_the_line = matches!(value("CallStatus"), "" | "in-progress" | "ringing");
        let is_handed_over = || value("HandoffData").contains(HANDED_OVER);
        match value("SessionStatus") {
            "failed" if is_on_the_line => Self::ConnectAgain,
            "ended" if is_on_the_line && is_handed_over() => Self::ConnectAgain,
            _ => Self::Over,
        }
    }
}

/// Returns the number of connections before the one that ended, from the query of the action's URL.
pub fn reconnects(query: Option<&str>) -> u32 {
    query.and_then(|query| query.strip_prefix("reconnects=")?.parse().ok()).unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(pairs: &[(&str, &str)]) -> Attributes {
        Attributes(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn twiml_connects_to_the_public_urls() {
        let urls = Urls::new("https://voice.example.com/a&b/");
        let german = attributes(&[("language", "de-DE"), ("voice", "\"/><Dial>")]);
        insta::assert_snapshot!(urls.connect(0, &german).unwrap().0, @r#"<?xml version="1.0" encoding="UTF-8"?><Response><Connect action="https://voice.example.com/a&amp;b/v1/twilio/after?reconnects=0"><ConversationRelay url="wss://voice.example.com/a&amp;b/v1/twilio/relay" events="speaker-events tokens-played" dtmfDetection="true" preemptible="true" interruptible="any" language="de-DE" voice="&quot;/>&lt;Dial>"/></Connect></Response>"#);
        assert_eq!(urls.connect(MAX_RECONNECTS + 1, &german), None);
        assert_eq!(reconnects(Some("reconnects=3")), 3);
        assert_eq!(reconnects(Some("reconnects=-3")) + reconnects(None), 0);
    }

    #[test]
    fn attributes_of_the_server_cannot_be_set() {
        assert_eq!(attributes(&[("interruptible", "none")]).check(), Ok(()));
        for wrong in ["url", "welcomeGreeting", "", "a b", "x=\"y\" z"] {
            assert!(attributes(&[(wrong, "1")]).check().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_a_caller_on_the_line_is_connected_again() {
        for (session, call, handoff, expected) in [
            ("failed", "in-progress", "", After::ConnectAgain),
            ("failed", "completed", "", After::Over),
            ("ended", "in-progress", r#"{"reason":"handed over"}"#, After::ConnectAgain),
            ("ended", "in-progress", r#"{"reason":"done"}"#, After::Over),
            ("completed", "completed", "", After::Over),
            ("", "", "", After::Over),
        ] {
            let parameters = [("SessionStatus", session), ("CallStatus", call), ("HandoffData", handoff)];
            let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(After::read(&parameters), expected, "{session} {call}");
        }
    }
}
