//! [`Ferry`]: the instructions and the tools of the assistant, and the booking service.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use verbale::call::CallBuilder;
use verbale::message::MessageError;
use verbale::model::{Tool, ToolContext, ToolError};

pub const GREETING: &str = "Good morning, Pellam Island Ferries, you are speaking with the assistant. How can I help?";

/// Spoken when a call continues on a new connection and nothing is to be answered.
pub const BACK: &str = "I am sorry, the line was interrupted. Please go on.";

/// Spoken when the caller waits for a tool or the model.
pub const FILLERS: [&str; 2] = ["One moment, please.", "I am still on it."];

pub const SYSTEM: &str = "\
You answer the telephone of Pellam Island Ferries. What you write is spoken: one to three short sentences, no lists, no \
markup, times and amounts in words. Departures come from the timetable; you never guess one. Say a few words before you \
call a tool. Before you book, name the day and the time, and ask for a yes.";

const DEPARTURES: &str = "The ferry leaves at seven fifteen, at ten thirty and at noon.";
const ON_SUNDAYS: &str = "The ferry leaves at noon.";

/// The booking service. It acts at most once for each idempotency key. Clones share the bookings.
#[derive(Clone)]
pub struct Ferry {
    bookings: Arc<Bookings>,
    /// How long the service takes to answer.
    takes: Duration,
}

/// The confirmation of each booking and the number of its caller, by its idempotency key.
enum Bookings {
    Memory(Mutex<BTreeMap<String, (String, String)>>),
    /// A file for each booking, with a line for each of both.
    Directory(PathBuf),
}

#[derive(Deserialize, JsonSchema)]
struct Day {
    /// A day of the week.
    day: String,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    /// A day of the week.
    day: String,
    /// A departure, in words.
    time: String,
}

impl Ferry {
    /// Opens the service with its bookings in a directory, or in memory.
    pub fn open(directory: Option<PathBuf>, takes: Duration) -> io::Result<Self> {
        let bookings = match directory {
            Some(directory) => {
                std::fs::create_dir_all(&directory)?;
                Bookings::Directory(directory)
            }
            None => Bookings::Memory(Mutex::default()),
        };
        Ok(Self { bookings: Arc::new(bookings), takes })
    }

    /// Adds the instructions and tools to a call from this number.
    pub fn install(&self, call: CallBuilder, from: &str) -> Result<CallBuilder, MessageError> {
        let timetable =
            Tool::new("timetable", "Returns the departures of a day.", |on: Day, _: ToolContext| async move {
                Ok(if on.day.eq_ignore_ascii_case("sunday") { ON_SUNDAYS } else { DEPARTURES }.to_owned())
            })?;
        let (ferry, caller) = (self.clone(), from.to_owned());
        let book = Tool::new(
            "book",
            "Books a place for the caller. Call it only after the caller said yes.",
            move |place: Place, context: ToolContext| {
                let (ferry, caller) = (ferry.clone(), caller.clone());
                async move { ferry.book(&place, &caller, context.idempotency_key()).await }
            },
        )?;
        let ferry = self.clone();
        // A process that takes the call over asks the service whether an open booking was made.
        let book = book.acts_once().deduplicates_by_key().resume(move |context| {
            let found = ferry.bookings.get(context.idempotency_key());
            async move { Ok(found.map_err(failed)?.map(|confirmation| vec![confirmation.into()])) }
        });
        Ok(call.system(SYSTEM).tool(timetable.read_only()).tool(book))
    }

    /// Books a place, unless the key has one. The answer takes a while, as over a network.
    async fn book(&self, Place { day, time }: &Place, caller: &str, key: &str) -> Result<String, ToolError> {
        let confirmation = match self.bookings.get(key).map_err(failed)? {
            Some(confirmation) => confirmation,
            None => {
                let number = key.get(..6).unwrap_or(key).to_uppercase();
                let confirmation = format!("The place on {day} at {time} is booked under {number}.");
                self.bookings.add(key, &confirmation, caller).map_err(failed)?;
                confirmation
            }
        };
        tokio::time::sleep(self.takes).await;
        Ok(confirmation)
    }
}

impl Bookings {
    /// Returns the confirmation. The number of the caller stays here, and out of the conversation.
    fn get(&self, key: &str) -> io::Result<Option<String>> {
        match self {
            Self::Memory(bookings) => {
                let bookings = bookings.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(bookings.get(key).map(|(confirmation, _)| confirmation.clone()))
            }
            Self::Directory(directory) => match std::fs::read_to_string(directory.join(key)) {
                Ok(booking) => Ok(booking.lines().next().map(str::to_owned)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    fn add(&self, key: &str, confirmation: &str, caller: &str) -> io::Result<()> {
        match self {
            Self::Memory(bookings) => {
                let booking = (confirmation.to_owned(), caller.to_owned());
                bookings.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), booking);
                Ok(())
            }
            Self::Directory(directory) => {
                // Renamed, so that a booking is whole or does not exist.
                let unfinished = directory.join(format!(".{key}"));
                std::fs::write(&unfinished, format!("{confirmation}\n{caller}\n"))?;
                std::fs::rename(unfinished, directory.join(key))
            }
        }
    }
}

fn failed(error: io::Error) -> ToolError {
    ToolError::new(format!("the booking service failed: {}", error.kind())).with_retryable(true)
}
