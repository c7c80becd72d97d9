//! [`Keys`]: signs callbacks as <https://www.standardwebhooks.com> describes, so that services check them with its libraries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The keys that sign a callback. Each signs it, so that a key can be replaced while services know one of two.
pub struct Keys(Vec<Hmac<Sha256>>);

impl Keys {
    /// Reads keys, separated by white space: `whsec_` and 24 to 64 bytes in Base64.
    ///
    /// Returns what is wrong. The text has no key.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut keys = Vec::new();
        for (number, key) in (1..).zip(text.split_whitespace()) {
            let bytes = STANDARD.decode(key.strip_prefix("whsec_").unwrap_or(key)).unwrap_or_default();
            if !(24..=64).contains(&bytes.len()) {
                return Err(format!("key {number} of the callbacks is not 24 to 64 bytes in Base64"));
            }
            // A key has any length.
            keys.extend(Hmac::new_from_slice(&bytes));
        }
        if keys.is_empty() { Err("there is no key for callbacks".to_owned()) } else { Ok(Self(keys)) }
    }

    /// Returns the signatures of a request, separated by spaces.
    pub fn sign(&self, id: &str, sent_s: i64, body: &[u8]) -> String {
        let sign = |key: &Hmac<Sha256>| {
            let mac = key.clone().chain_update(format!("{id}.{sent_s}.")).chain_update(body);
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        };
        self.0.iter().map(sign).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn signature_is_that_of_the_specification() {
        let keys = Keys::read("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = keys.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_key_signs_and_no_key_is_shown() {
        let (one, two) = ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
        let keys = Keys::read(&format!("{one}\n{two}\n")).unwrap();
        assert_eq!(keys.sign("msg_1", 0, b"").split(' ').count(), 2);
        for wrong in ["", "whsec_", "whsec_c2hvcnQ=", "my secret key"] {
            let error = Keys::read(wrong).err().unwrap();
            assert!(!error.contains("secret") && !error.contains("c2hvcnQ"), "{error}");
        }
    }
}
