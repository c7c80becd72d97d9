//! `verbale report`: a call as one page of HTML, or the calls of a day with an overview.

mod chart;
mod day;
mod page;
mod parts;
mod prompts;

use std::io::Write;
use std::path::PathBuf;

use askama::Template;
use clap::Args;
use verbale::log::Day;

use crate::calls::Calls;
use crate::command::note;
use crate::failure::{EXIT_STATUS, Failure};
use crate::log::LogArguments;
use crate::new_file::NewFile;
use crate::redact::Mask;
pub use page::{Known, Page};
use prompts::Prices;

/// Writes a call as one page of HTML: a timeline, the time and tokens of each turn, the transcript, and what went wrong.
///
/// The file needs nothing else: no network, no script. It is readable by keyboard, by screen readers, on paper, and in the
/// dark. It has everything that was said.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The id of the call, as `verbale list` prints it.
    #[arg(value_name = "CALL", required_unless_present = "day", conflicts_with = "day")]
    call: Option<String>,

    /// Writes a page for each call that started on this day, in UTC, and an overview with links.
    #[arg(long, value_name = "DAY", requires = "output")]
    day: Option<Day>,

    /// The tenant of the day's calls.
    #[arg(long, value_name = "TENANT", requires = "day")]
    tenant: Option<String>,

    /// The file to write, or the directory for a day. Without it, the page goes to the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The dollars of a million tokens, for the cost: IN,OUT or IN,OUT,READ,WRITE, with those of the provider's cache.
    #[arg(long, value_name = "PRICES")]
    prices: Option<Prices>,

    /// The maximum of tokens of a prompt, as a line across their chart.
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    #[command(flatten)]
    mask: Mask,

    #[command(flatten)]
    log: LogArguments,
}

/// Writes the page. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let known = Known { prices: arguments.prices, budget: arguments.budget };
    let Some(call) = arguments.call else {
        let log = arguments.log.open().await?;
        let calls = Calls::of_day(&log, arguments.day, arguments.tenant)?;
        let day = arguments.day.map_or_else(String::new, |day| day.to_string());
        return day::write(calls, arguments.mask, known, day, &arguments.output.unwrap_or_default()).await;
    };
    let (call_id, call) = arguments.log.read(call).await?;
    let page = Page::new(&call_id, arguments.mask.apply(call)?, known);
    let html = page.render().map_err(std::io::Error::other)?;
    match &arguments.output {
        None => out.write_all(html.as_bytes())?,
        Some(path) => {
            NewFile::write(path, html.as_bytes())?;
            note(&format!("{} KB written to {}", html.len().div_ceil(1024), path.display()));
        }
    }
    Ok(0)
}
