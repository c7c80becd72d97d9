//! [`RelayError`]: the reasons why the program cannot serve calls.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use verbale::conversation::ConversationError;
use verbale::log::LogError;
use verbale::message::MessageError;

/// The program cannot serve calls, or one call cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    #[error("TWILIO_AUTH_TOKEN is not set; copy the auth token of your account from https://console.twilio.com")]
    NoAuthToken,
    #[error("no AWS region is set; set AWS_REGION or the region of your profile")]
    NoRegion,
    #[error("cannot listen on {0}; choose another address with --listen")]
    Listen(SocketAddr, #[source] io::Error),
    #[error("the async runtime cannot start")]
    Runtime(#[source] io::Error),
    #[error("the server failed")]
    Server(#[source] io::Error),
    #[error("the log cannot be used")]
    Log(#[from] LogError),
    #[error("a call cannot be opened, or cannot continue")]
    Call(#[from] ConversationError),
    #[error("the directory of the bookings cannot be used")]
    Bookings(#[source] io::Error),
    #[error("a tool is invalid")]
    Tool(#[from] MessageError),
    #[error("{0} parts of calls are not in the log; check its errors above")]
    Unstored(usize),
}

/// Returns an error and its causes on one line.
pub fn on_one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        // Many errors already contain their source.
        let text = error.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = error.source();
    }
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
