//! Maps the events of telephony services to the methods of a [`CallSession`](super::CallSession).
//!
//! This module has documentation only, because services change their events, and a session takes events from any of them.
//!
#![doc = include_str!("../../docs/twilio.md")]
//!
#![doc = include_str!("../../docs/livekit.md")]
//!
#![doc = include_str!("../../docs/amazon-connect.md")]
