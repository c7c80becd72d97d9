//! [`CallerId`]: the pseudonym of a caller.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::LogError;

/// The pseudonym of a caller: a salted hash of the phone number. The log never gets the number itself.
///
/// The id is the first 16 bytes of SHA-256 of salt and number, in hexadecimal. Phone numbers are few, so anyone who
/// knows the salt can find the number by trying all of them. Keep the salt secret, like a password, and keep it for as
/// long as calls must be found: another salt gives other ids.
///
/// ```
/// use verbale::log::{CallHeader, CallId, CallLog, CallQuery, CallerId, MemoryLog};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = MemoryLog::default();
/// let salt = b"32 random bytes, from a secret store";
/// let caller = CallerId::new("+4930123456", salt)?;
/// let header = CallHeader::new(CallId::new("CA1")?, 1_744_815_823_058)?.with_caller(caller);
/// log.open_call(&header).await?;
///
/// // The calls of the same number, newest first.
/// let query = CallQuery::of_caller(None, CallerId::new("+4930123456", salt)?);
/// assert_eq!(log.list_calls(&query).await?.calls, [header]);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallerId(Arc<str>);

impl CallerId {
    /// Hashes a phone number with the salt of the service.
    ///
    /// Write each number in one form, such as E.164 (`+4930123456`), because another form gives another id. A caller
    /// who withholds the number has no id.
    ///
    /// Returns [`Invalid`](super::LogErrorKind::Invalid) if the number is blank or the salt is shorter than 16 bytes.
    pub fn new(number: &str, salt: &[u8]) -> Result<Self, LogError> {
        if number.trim().is_empty() || salt.len() < MIN_SALT_BYTES {
            let rule = "the number is not blank, and the salt has 16 bytes at least; a withheld number has no id";
            return Err(LogError::invalid("a caller id", rule));
        }
        let hash = Sha256::new().chain_update(salt).chain_update(number).finalize();
        Ok(Self(hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect::<String>().into()))
    }

    /// Reads an id that a log stores. Returns `None` if it is not 32 hexadecimal digits.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let is_hash =
            text.len() == 2 * HASH_BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hash.then(|| Self(text.into()))
    }

    /// Returns the hash as a log stores it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

const MIN_SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 16;

/// Shows nothing, because the id is personal data.
impl fmt::Debug for CallerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerId(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_depends_on_number_and_salt_and_hides_both() {
        let salt = b"0123456789abcdef";
        let id = CallerId::new("+4930123456", salt).unwrap();
        assert_eq!(id.as_str(), "bd77849dd802037a38b4ef86ae1c6855");
        assert_eq!(CallerId::new("+4930123456", salt).unwrap(), id);
        assert_ne!(CallerId::new("+4930123457", salt).unwrap(), id);
        assert_ne!(CallerId::new("+4930123456", b"0123456789abcdeg").unwrap(), id);
        assert_eq!(format!("{id:?}"), "CallerId(..)");
        assert_eq!(CallerId::read(id.as_str()), Some(id));
        for bad in ["", "+4930123456", "BD77849DD802037A38B4EF86AE1C6855"] {
            assert_eq!(CallerId::read(bad), None);
        }
    }

    #[test]
    fn blank_number_and_short_salt_are_refused() {
        for (number, salt) in [("", &b"0123456789abcdef"[..]), (" ", b"0123456789abcdef"), ("+4930123456", b"short")] {
            let error = CallerId::new(number, salt).unwrap_err();
            assert!(!error.to_string().contains("30123456"), "{error}");
        }
    }
}
