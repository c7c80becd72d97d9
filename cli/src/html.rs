//! The style of all pages, and what a browser may load for them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// The style, as each page has it.
pub const STYLE: &str = include_str!("../templates/page.css");

/// Returns the policy of a page: its own style, and nothing else.
pub fn policy() -> String {
    format!("default-src 'none'; style-src 'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(STYLE)))
}

/// The additions to a page that a server shows.
#[derive(Debug)]
pub struct Served {
    /// How the page follows. Without it, the page does not change.
    pub follow: Option<Follow>,
    /// What the page shows, in a sentence that a screen reader speaks when it changes.
    pub status: String,
    pub has_logout: bool,
}

/// How a page learns that it has changed.
#[derive(Debug)]
pub struct Follow {
    /// The address of its events.
    pub events: String,
    /// The state that it shows.
    pub version: String,
}

impl Served {
    /// Returns the state that the page shows, or an empty text.
    pub fn version(&self) -> &str {
        self.follow.as_ref().map_or("", |follow| &follow.version)
    }
}
