//! [`Sealing`]: the encryption of a spool's values, or none.

use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "encryption")]
use chacha20poly1305::{
    Key, XChaCha20Poly1305, XNonce,
    aead::{Aead, Generate, KeyInit, Payload},
};

use super::error::{Fault, FaultKind};
use super::tables::Place;

/// The bytes of a nonce, which precedes each encrypted value.
#[cfg(feature = "encryption")]
const NONCE: usize = 24;

/// The key of an encrypted spool. Dropping its last clone erases it from memory.
#[cfg(feature = "encryption")]
#[derive(Clone)]
pub(super) struct SpoolKey(std::sync::Arc<XChaCha20Poly1305>);

/// No key, because the feature `encryption` is off.
#[cfg(not(feature = "encryption"))]
#[derive(Clone, PartialEq, Eq)]
pub(super) enum SpoolKey {}

#[cfg(feature = "encryption")]
impl SpoolKey {
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self(std::sync::Arc::new(XChaCha20Poly1305::new(&Key::from(*bytes))))
    }
}

/// A key equals its clones.
#[cfg(feature = "encryption")]
impl PartialEq for SpoolKey {
    fn eq(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(feature = "encryption")]
impl Eq for SpoolKey {}

/// Prints nothing of the key.
impl fmt::Debug for SpoolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpoolKey(..)")
    }
}

/// Encrypts and decrypts the values of one spool.
///
/// Each encryption has a new nonce. The associated data is the id of the spool and the key of the value, so that a value
/// that was moved to another place or another spool is refused.
#[derive(Debug, Clone)]
pub(super) struct Sealing {
    key: Option<SpoolKey>,
    spool: u64,
}

/// The owner of an encrypted value.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "encryption"), allow(dead_code, reason = "only encryption reads the fields"))]
pub(super) enum Sealed<'a> {
    /// The value that verifies a key.
    Check,
    Call(&'a str, u64),
    /// A record, which may be a dead letter.
    Record(Place, u32),
}

impl Sealing {
    pub fn new(key: Option<SpoolKey>, spool: u64) -> Self {
        Self { key, spool }
    }

    /// The id of the spool.
    pub fn spool(&self) -> u64 {
        self.spool
    }

    /// Returns the value with which [`verify`](Self::verify) checks a key; `None` without a key.
    pub fn check(&self) -> Result<Option<Vec<u8>>, Fault> {
        self.key.as_ref().map(|_| self.seal(Sealed::Check, b"").map(Cow::into_owned)).transpose()
    }

    /// Returns an error unless `check` was made with this key, or without any key if there is none.
    pub fn verify(&self, check: Option<&[u8]>) -> Result<(), Fault> {
        match (&self.key, check) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(Fault::of(FaultKind::KeyMissing)),
            (Some(_), None) => Err(Fault::of(FaultKind::NotEncrypted)),
            (Some(_), Some(check)) => {
                self.open(Sealed::Check, check).map(drop).map_err(|_| Fault::of(FaultKind::WrongKey))
            }
        }
    }

    #[cfg(feature = "encryption")]
    pub fn seal<'a>(&self, place: Sealed<'_>, value: &'a [u8]) -> Result<Cow<'a, [u8]>, Fault> {
        let Some(SpoolKey(cipher)) = &self.key else { return Ok(value.into()) };
        // Not from `clock`, which continues without randomness: a repeated nonce would reveal both values.
        let nonce = XNonce::try_generate().map_err(|_| Fault::unreadable("the system has no randomness"))?;
        let payload = Payload { msg: value, aad: &self.associated(place) };
        let sealed = cipher.encrypt(&nonce, payload).map_err(|_| Fault::unreadable("a value cannot be encrypted"))?;
        Ok([nonce.as_slice(), &sealed].concat().into())
    }

    #[cfg(feature = "encryption")]
    pub fn open<'a>(&self, place: Sealed<'_>, value: &'a [u8]) -> Result<Cow<'a, [u8]>, Fault> {
        let Some(SpoolKey(cipher)) = &self.key else { return Ok(value.into()) };
        let opened = value.split_first_chunk::<NONCE>().and_then(|(nonce, sealed)| {
            let payload = Payload { msg: sealed, aad: &self.associated(place) };
            cipher.decrypt(&XNonce::from(*nonce), payload).ok()
        });
        opened.map(Cow::from).ok_or_else(|| Fault::unreadable("it contains a value that cannot be decrypted"))
    }

    #[cfg(feature = "encryption")]
    fn associated(&self, place: Sealed<'_>) -> Vec<u8> {
        let mut data = self.spool.to_le_bytes().to_vec();
        match place {
            Sealed::Check => data.push(0),
            Sealed::Call(id, number) => {
                data.push(1);
                data.extend(number.to_le_bytes());
                data.extend(id.as_bytes());
            }
            Sealed::Record((call, seq, summary, id), revision) => {
                data.push(2);
                data.extend(call.to_le_bytes());
                data.extend([seq, summary, revision].map(u32::to_le_bytes).as_flattened());
                data.extend(id.to_le_bytes());
            }
        }
        data
    }

    #[cfg(not(feature = "encryption"))]
    #[expect(clippy::unnecessary_wraps, reason = "encryption may fail")]
    pub fn seal<'a>(&self, _: Sealed<'_>, value: &'a [u8]) -> Result<Cow<'a, [u8]>, Fault> {
        Ok(value.into())
    }

    #[cfg(not(feature = "encryption"))]
    #[expect(clippy::unnecessary_wraps, reason = "decryption may fail")]
    pub fn open<'a>(&self, _: Sealed<'_>, value: &'a [u8]) -> Result<Cow<'a, [u8]>, Fault> {
        Ok(value.into())
    }
}
