//! Measures the check on recorded conversations that are kept outside the repository: false alarms on sentences that
//! were said, in the original and in other forms, and the share of changed values that are found.

#![allow(clippy::print_stderr, reason = "the figures are the result")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use regex::{Captures, Regex};
use serde_json::Value as Json;

use super::*;

/// The lines of each recorded conversation, without the instructions.
fn recorded() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/tau-airline");
    let Ok(files) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let json: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let messages = json["messages"].as_array().unwrap();
        let told = messages.iter().filter(|message| message["role"] != "system");
        told.map(|message| format!("{message}\n")).collect()
    };
    paths.iter().map(read).collect()
}

/// The sentences that the assistant and the caller said, and one for each field of a tool.
fn said(lines: &str) -> Vec<String> {
    let mut said = Vec::new();
    for line in lines.lines() {
        let message: Json = serde_json::from_str(line).unwrap();
        let text = message["content"].as_str().unwrap_or_default();
        match serde_json::from_str(text) {
            Ok(json @ (Json::Object(_) | Json::Array(_))) if message["role"] == "tool" => fields(&json, &mut said),
            _ => said.extend(sentences(text).map(|sentence| sentence.trim().to_owned())),
        }
    }
    said.retain(|sentence| sentence.len() > 8);
    said.sort();
    said.dedup();
    said
}

fn fields(json: &Json, said: &mut Vec<String>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| fields(item, said)),
        Json::Object(object) => {
            for (name, field) in object {
                let name = name.replace('_', " ");
                match field {
                    Json::String(text) => said.push(format!("The {name} is {text}.")),
                    Json::Number(number) => said.push(format!("The {name} is ${number}.")),
                    other => fields(other, said),
                }
            }
        }
        _ => {}
    }
}

type Rewrite = fn(&str) -> String;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn rewrite(text: &str, pattern: &'static str, with: impl Fn(&Captures<'_>) -> String) -> String {
    thread_local! { static PATTERNS: RefCell<BTreeMap<&'static str, Regex>> = RefCell::default(); }
    PATTERNS.with_borrow_mut(|patterns| {
        let pattern = patterns.entry(pattern).or_insert_with(|| Regex::new(pattern).unwrap());
        pattern.replace_all(text, |found: &Captures<'_>| with(found)).into_owned()
    })
}

/// The other forms of the values of a sentence.
const FORMS: [(&str, Rewrite); 6] = [
    ("as said", str::to_owned),
    ("date in words", |text| {
        rewrite(text, r"\b(20\d\d)-(\d\d)-(\d\d)\b", |found| {
            let (month, day): (usize, u32) = (found[2].parse().unwrap(), found[3].parse().unwrap());
            if (1..=12).contains(&month) {
                format!("{} {day}, {}", MONTHS[month - 1], &found[1])
            } else {
                found[0].into()
            }
        })
    }),
    ("day first", |text| {
        rewrite(text, r"\b(January|February|March|April|May|June|July) (\d\d?)\b", |found| {
            format!("{} {}", &found[2], &found[1])
        })
    }),
    ("24 h", |text| {
        rewrite(text, r"\b(\d\d?):(\d\d) ?(AM|PM)\b", |found| {
            let hour: u32 = found[1].parse().unwrap();
            let hour = hour % 12 + if &found[3] == "PM" { 12 } else { 0 };
            format!("{hour:02}:{}", &found[2])
        })
    }),
    ("12 h", |text| {
        rewrite(text, r"\b([01]\d|2[0-3]):(\d\d):00\b", |found| {
            let hour: u32 = found[1].parse().unwrap();
            let half = if hour < 12 { "am" } else { "pm" };
            format!("{}:{} {half}", if hour.is_multiple_of(12) { 12 } else { hour % 12 }, &found[2])
        })
    }),
    ("currency in words", |text| {
        rewrite(text, r"\$(\d[\d,]*)(\.\d\d)?", |found| {
            format!(
                "{}{} dollars",
                found[1].trim_end_matches(',').replace(',', ""),
                found.get(2).map_or("", |cents| cents.as_str())
            )
        })
    }),
];

#[test]
fn what_was_said_passes_in_every_form() {
    let recorded = recorded();
    if recorded.is_empty() {
        eprintln!("skipped: no recorded conversations");
        return;
    }
    let (mut sentences_read, mut alarms) = (0, BTreeMap::new());
    for lines in &recorded {
        let source = Source::new(lines);
        for (form, rewrite) in FORMS {
            for sentence in said(lines) {
                let written = rewrite(&sentence);
                if form != "as said" && written == sentence {
                    continue;
                }
                sentences_read += 1;
                let (_, removed) = source.checked(&written);
                if removed.all() > 0 {
                    *alarms.entry(form).or_insert(0) += 1;
                    if std::env::var_os("FIDELITY_SHOW").is_some() {
                        eprintln!("{form}: {removed:?} {written}");
                    }
                }
            }
        }
    }
    let all: usize = alarms.values().sum();
    eprintln!("false alarms: {all} of {sentences_read} sentences {alarms:?}");
    assert!(all * 100 <= sentences_read, "{all} of {sentences_read}");
}

/// Changes the last digit of a number.
fn changed(value: &str, by: u32) -> String {
    let at = value.rfind(|c: char| c.is_ascii_digit()).unwrap();
    let digit = value[at..=at].parse::<u32>().unwrap();
    format!("{}{}{}", &value[..at], (digit + by) % 10, &value[at + 1..])
}

#[test]
fn changed_values_are_found() {
    const KINDS: [(&str, &str); 6] = [
        ("code", r"\b[A-Z]{2,}\d{2,}\b|\b[a-z]+_[a-z]+_\d{4}\b|\b(?:[A-Z]+\d[A-Z0-9]*|\d[A-Z0-9]*[A-Z])\b"),
        ("amount", r"\$\d[\d,]*\d(?:\.\d\d)?"),
        ("number", r"\b\d{3,}\b"),
        ("date", r"\b20\d\d-\d\d-\d\d\b"),
        ("time", r"\b\d\d:\d\d:00\b"),
        ("name", r"\b[A-Z][a-z]+ [A-Z][a-z]+\b"),
    ];
    let recorded = recorded();
    if recorded.is_empty() {
        eprintln!("skipped: no recorded conversations");
        return;
    }
    let day = Regex::new(r"^20\d\d-(\d\d)-(\d\d)$").unwrap();
    for (kind, pattern) in KINDS {
        let pattern = Regex::new(pattern).unwrap();
        let (mut inserted, mut found) = (0, 0);
        for lines in &recorded {
            let source = Source::new(lines);
            let mut values: Vec<&str> = pattern.find_iter(lines).map(|found| found.as_str()).collect();
            values.sort_unstable();
            values.dedup();
            for value in values {
                for by in [1, 3, 7] {
                    let invented = match kind {
                        "name" => format!(
                            "{} Quar{}",
                            value.split(' ').next().unwrap(),
                            ["nik", "dell", "ova"][by as usize % 3]
                        ),
                        "time" => format!("{}{:02}:00", &value[..3], (value[3..5].parse::<u32>().unwrap() + by) % 60),
                        "date" => {
                            let day = value[8..].parse::<u32>().unwrap() % 28 + by;
                            format!("{}{:02}", &value[..8], if day > 28 { day - 28 } else { day })
                        }
                        _ => changed(value, by),
                    };
                    // If the source happens to hold the changed value, it is not an invention.
                    let plain = invented.trim_start_matches('$').replace(',', "");
                    let is_said = day.captures(&plain).map_or_else(
                        || lines.replace(',', "").contains(plain.trim_end_matches(":00")),
                        |found| {
                            let (month, number): (usize, u32) = (found[1].parse().unwrap(), found[2].parse().unwrap());
                            lines.contains(&plain)
                                || (1..=12).contains(&month)
                                    && lines.contains(&format!("{} {number}", MONTHS[month - 1]))
                        },
                    );
                    if is_said {
                        continue;
                    }
                    inserted += 1;
                    let (_, removed) = source.checked(&format!("The caller agreed to {invented} in the end."));
                    found += usize::from(removed.all() > 0);
                    if removed.all() == 0 && std::env::var_os("FIDELITY_SHOW").is_some() {
                        eprintln!("missed {kind}: {invented} for {value}");
                    }
                }
            }
        }
        eprintln!("changed values found: {kind} {found} of {inserted}");
        assert!(found * 100 >= inserted * 99, "{kind}: {found} of {inserted}");
    }
}

/// Adds the names of tools and fields, and the ids, to `names`.
fn names_in(json: &Json, names: &mut HashSet<String>) {
    let is_own = |name: &str| name.len() > 4 && name.contains(|c: char| c == '_' || c.is_ascii_digit());
    match json {
        Json::String(text) => match serde_json::from_str(text) {
            Ok(inner @ (Json::Object(_) | Json::Array(_))) => names_in(&inner, names),
            _ => names.extend(Some(text.to_lowercase()).filter(|text| is_own(text) && !text.contains([' ', ':', '-']))),
        },
        Json::Array(items) => items.iter().for_each(|item| names_in(item, names)),
        Json::Object(fields) => {
            names.extend(fields.keys().filter(|name| is_own(name)).map(|name| name.to_lowercase()));
            fields.values().for_each(|field| names_in(field, names));
        }
        _ => {}
    }
}

#[test]
fn rules_hold_no_name_of_the_recordings() {
    let mut names = HashSet::new();
    for line in recorded().iter().flat_map(|lines| lines.lines()) {
        names_in(&serde_json::from_str(line).unwrap(), &mut names);
    }
    if names.is_empty() {
        eprintln!("skipped: no recorded conversations");
        return;
    }
    // The names of the chat format.
    names.retain(|name| !["tool_calls", "tool_call_id"].contains(&name.as_str()));
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/memory")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if !path.to_string_lossy().contains("tests") && !path.to_string_lossy().ends_with(".snap") {
                let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
                // The tests of a file hold examples.
                let rules = text.split("#[cfg(test)]").next().unwrap();
                let code = rules.lines().filter(|line| !line.trim_start().starts_with("//"));
                let words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
                let found: Vec<&str> = words.filter(|word| names.contains(*word)).collect();
                assert!(found.is_empty(), "{}: {found:?}", path.display());
            }
        }
    }
}

/// Faithful summaries, written by hand for these recordings.
const BY_HAND: [(&str, &str); 10] = [
    (
        "task-00",
        "The caller, Mia Li, wanted to fly one way from New York to Seattle on 20 May. She refused insurance. She needed a \
         departure after 11:00 and chose the cheaper connection, HAT136 with HAT039. She first asked for certificates, then \
         for the larger one alone. In the end she paid everything with the credit card ending in 7447. Nothing is open.",
    ),
    (
        "task-02",
        "Omar Davis (user ID omar_davis_3817) wants all his trips downgraded from business to economy. He says that money is \
         tight. Flights and passengers stay as they are. Refunds go back to the original payment methods. He also asked how \
         much he saves overall.",
    ),
    (
        "task-04",
        "The caller is Omar Rossi. He could not remember the reservation for Chicago. He accepted a new economy booking from \
         EWR to ORD on Saturday's date, May 25th, without insurance. The gift card was too small, so the Visa ending in 6437 \
         pays the rest. Three checked bags were added later.",
    ),
    (
        "task-06",
        "Aarav Garcia asked to move trip M05KNL (Atlanta to Philadelphia, ATL–PHL) by one day. It is now on 24 May in the \
         cheapest economy fare. He agreed to a refund to the original payment method. He is satisfied.",
    ),
    (
        "task-08",
        "Mohamed Silva asked for the balances of his gift cards and certificates. He wanted to swap trip K1NW8N for a business \
         round trip on the same dates. Payment order: certificates, gift cards, MasterCard. Booking failed repeatedly, and a \
         human agent took over.",
    ),
    (
        "task-10",
        "Mia Kim first wanted Ethan Lopez removed from H9ZU1C, which is not possible. She then asked for the cheapest direct \
         round trip from New York to the West Coast, 2024-05-20 to 2024-05-25. She took Basic Economy. The smaller gift \
         card is used first. She refused insurance and extra bags.",
    ),
    (
        "task-14",
        "Chen Lee asked to upgrade the Boston to Minneapolis trip, YAX4DR. Upgrading both was too expensive. Only Noah was to be \
         upgraded, with a limit of 600 dollars. Two checked bags come under Chen's Gold membership.",
    ),
    (
        "task-16",
        "Ethan Martin was upset about a delay of HAT039 between ATL and SEA. He would have preferred a refund. He finally \
         accepted a certificate of one hundred and fifty dollars.",
    ),
    (
        "task-18",
        "Amelia Rossi wants to cancel SI5UKW because her plans changed. The assistant refused a refund. She asked for a voucher, \
         then for 50 percent, then for 10%. She insisted and was handed to a human agent.",
    ),
    (
        "task-20",
        "James Taylor (james_taylor_7043) switched the outbound flight of 1N99U6, LAS to IAH, to a nonstop one at 1 PM. The \
         credit card and the certificate were not accepted, so the gift card pays the difference. A checked bag is still \
         to be removed; a human agent handles that.",
    ),
];

#[test]
fn summaries_by_hand_pass() {
    let recorded = recorded();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/tau-airline");
    let (mut read, mut alarms) = (0, Vec::new());
    for (name, summary) in BY_HAND {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{name}.json"))) else { continue };
        let json: Json = serde_json::from_str(&text).unwrap();
        let own = json["messages"].as_array().unwrap().last().unwrap().to_string();
        let Some(lines) = recorded.iter().find(|lines| lines.trim_end().ends_with(&own)) else { continue };
        let source = Source::new(lines);
        for sentence in sentences(summary) {
            read += 1;
            let (_, removed) = source.checked(sentence);
            if removed.all() > 0 {
                alarms.push(format!("{name} {removed:?} {sentence}"));
            }
        }
    }
    eprintln!("false alarms by hand: {} of {read} sentences {alarms:#?}", alarms.len());
    assert!(alarms.len() * 20 <= read, "{} of {read}", alarms.len());
}
