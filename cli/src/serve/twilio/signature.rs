//! [`AuthToken`]: checks that a request comes from Twilio.
//!
//! Twilio signs the URL that it requests, followed by the parameters of a POST sorted by name, with the auth token of the
//! account: <https://www.twilio.com/docs/usage/security#validating-requests> (read 2026-11-22). The handshake of a
//! ConversationRelay WebSocket is signed in the same way over its `wss` URL, without parameters:
//! <https://www.twilio.com/docs/voice/conversationrelay/onboarding#configure-websocket-server> (read 2026-11-22).

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

/// The header with the signature.
pub const HEADER: &str = "x-twilio-signature";

/// The auth token of the Twilio account. `Debug` does not show it.
pub struct AuthToken(String);

impl AuthToken {
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// Returns whether Twilio signed this URL with these POST parameters. Takes the same time for each wrong signature.
    pub fn has_signed(&self, url: &str, parameters: &[(String, String)], signature: Option<&str>) -> bool {
        let signature = signature.and_then(|signature| STANDARD.decode(signature).ok());
        match (self.mac(url, parameters), signature) {
            (Some(mac), Some(signature)) => mac.verify_slice(&signature).is_ok(),
            _ => false,
        }
    }

    /// Returns the signature of a request, as Twilio would send it.
    #[cfg(test)]
    pub fn sign(&self, url: &str, parameters: &[(String, String)]) -> String {
        STANDARD.encode(self.mac(url, parameters).unwrap().finalize().into_bytes())
    }

    fn mac(&self, url: &str, parameters: &[(String, String)]) -> Option<Hmac<Sha1>> {
        // Any length is a valid key.
        let mut mac = Hmac::<Sha1>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(url.as_bytes());
        // Twilio's libraries sign a name with several values once for each different value, in order.
        for (name, value) in parameters.iter().collect::<BTreeSet<_>>() {
            mac.update(name.as_bytes());
            mac.update(value.as_bytes());
        }
        Some(mac)
    }
}

impl fmt::Debug for AuthToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthToken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(parameters: &[(&str, &str)]) -> Vec<(String, String)> {
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The example of Twilio's documentation, which its libraries test too.
    const URL: &str = "https://mycompany.com/myapp.php?foo=1&bar=2";
    const SIGNATURE: &str = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";

    fn example() -> Vec<(String, String)> {
        parameters(&[
            ("Digits", "1234"),
            ("To", "+18005551212"),
            ("From", "+14158675309"),
            ("Caller", "+14158675309"),
            ("CallSid", "CA1234567890ABCDE"),
        ])
    }

    #[test]
    fn documented_example_is_accepted() {
        let token = AuthToken::new("12345");
        assert!(token.has_signed(URL, &example(), Some(SIGNATURE)));
        assert_eq!(token.sign(URL, &example()), SIGNATURE);
        assert_eq!(format!("{token:?}"), "AuthToken");
    }

    #[test]
    fn values_of_one_name_are_sorted_and_counted_once() {
        let repeated =
            [("Sid", "CA123"), ("SidAccount", "AC123"), ("Digits", "5678"), ("Digits", "1234"), ("Digits", "1234")];
        assert!(AuthToken::new("12345").has_signed(URL, &parameters(&repeated), Some("IK+Dwps556ElfBT0I3Rgjkr1wJU=")));
    }

    #[test]
    fn any_difference_is_refused() {
        let token = AuthToken::new("12345");
        let mut other_digits = example();
        other_digits[0].1 = "9999".to_owned();
        assert!(!token.has_signed(URL, &other_digits, Some(SIGNATURE)));
        assert!(!token.has_signed(URL, &example()[1..], Some(SIGNATURE)));
        assert!(!token.has_signed("https://mycompany.com/myapp.php?foo=1", &example(), Some(SIGNATURE)));
        assert!(!AuthToken::new("12346").has_signed(URL, &example(), Some(SIGNATURE)));
        for wrong in
            [None, Some(""), Some("RSOYDt4T1cUTdK1PDd93"), Some("no base64"), Some("RSOYDt4T1cUTdK1PDd93/VVr8B9=")]
        {
            assert!(!token.has_signed(URL, &example(), wrong), "{wrong:?}");
        }
    }
}
