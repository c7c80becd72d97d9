//! The pages of the calls of a day, and an overview with a link to each.

use std::fs;
use std::path::{Path, PathBuf};

use askama::Template;

use super::page::{Known, Page};
use crate::calls::{Calls, Found};
use crate::command::note;
use crate::failure::{DIFFERENT, Failure, on_one_line};
use crate::new_file::NewFile;
use crate::progress::Progress;
use crate::redact::Mask;
use crate::text::count;
use crate::time::utc;

/// The overview of a day.
#[derive(Debug, Template)]
#[template(path = "day.html")]
struct Overview {
    day: String,
    rows: Vec<Row>,
    /// Why calls have no page.
    unreadable: Vec<String>,
}

/// A call of the overview.
#[derive(Debug)]
struct Row {
    file: String,
    call: String,
    started: String,
    lasted: String,
    ended: String,
    answers: String,
    causes: usize,
}

/// Writes the pages into a directory, and at last the overview `index.html`. Returns the exit status.
pub async fn write(
    mut calls: Calls<'_>,
    mask: Mask,
    known: Known,
    day: String,
    directory: &Path,
) -> Result<u8, Failure> {
    let failed = |source| Failure::File { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let mut overview = Overview { day, rows: Vec::new(), unreadable: Vec::new() };
    let mut progress = Progress::new();
    while let Some(found) = calls.next().await? {
        match found {
            Found::Call(header, call) => {
                progress.add(header.started_ms());
                let page = Page::new(header.call_id(), mask.apply(call)?, known);
                // An id may have characters that no file name has.
                let file = format!("call-{:06}.html", overview.rows.len() + 1);
                write_file(&directory.join(&file), &page)?;
                overview.rows.push(Row {
                    file,
                    call: header.call_id().to_string(),
                    started: utc(header.started_ms()),
                    lasted: page.fact("lasted").to_owned(),
                    ended: page.fact("ended").to_owned(),
                    answers: page.fact("answers").to_owned(),
                    causes: page.causes(),
                });
            }
            Found::Unreadable(error) => overview.unreadable.push(on_one_line(&error)),
            Found::PageEnd(_) => {}
        }
    }
    drop(progress);
    let index: PathBuf = directory.join("index.html");
    write_file(&index, &overview)?;
    note(&format!("{} written, with the overview {}", count(overview.rows.len() as u64, "page"), index.display()));
    Ok(if overview.unreadable.is_empty() { 0 } else { DIFFERENT })
}

fn write_file(path: &Path, page: &impl Template) -> Result<(), Failure> {
    let html = page.render().map_err(std::io::Error::other)?;
    NewFile::write(path, html.as_bytes())
}
