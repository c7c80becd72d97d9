//! Which of a telephony service's events are which of ours: a page for each service.
//!
//! Owns pages, and no code: what a service sends changes, and a session takes events from any of them.

#[doc = include_str!("../../docs/twilio.md")]
pub mod twilio {}

#[doc = include_str!("../../docs/livekit.md")]
pub mod livekit {}

#[doc = include_str!("../../docs/amazon-connect.md")]
pub mod amazon_connect {}
