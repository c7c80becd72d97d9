//! Prints the record of a turn.

use std::fmt;

use super::separated;
use crate::message::{RequestRecord, Text, TurnRecord, quoted};

/// Prints the end of a turn, and for each request its memory, latencies, tokens, changes and failure.
pub(super) fn turn(f: &mut fmt::Formatter<'_>, record: &TurnRecord) -> fmt::Result {
    f.write_str("turn={")?;
    word(f, &record.end)?;
    if let Some(reason) = &record.reason {
        f.write_str(" ")?;
        word(f, reason)?;
    }
    let mut model = "model";
    for record in &record.requests {
        f.write_str(", ")?;
        model = record.model.as_ref().map_or(model, |model| model.as_str());
        word(f, model)?;
        request(f, record)?;
    }
    if record.fillers > 0 {
        write!(f, ", {} fillers", record.fillers)?;
    }
    if !record.rare.earlier.is_empty() {
        write!(f, ", {} earlier", record.rare.earlier.len() + record.rare.left_out as usize)?;
    }
    f.write_str("}")
}

pub(super) fn request(f: &mut fmt::Formatter<'_>, request: &RequestRecord) -> fmt::Result {
    if let Some(hash) = &request.prompt_hash {
        f.write_str(" prompt ")?;
        word(f, &hash.to_string())?;
    }
    if let Some(seq) = request.memory_covers {
        write!(f, " memory {} to {seq}", request.memory_version)?;
    }
    request.first_token_ms.get().iter().try_for_each(|ms| write!(f, " first token {ms} ms"))?;
    request.took_ms.get().iter().try_for_each(|ms| write!(f, " end {ms} ms"))?;
    if let Some((input, output)) = request.input.get().zip(request.output.get()) {
        write!(f, " tokens {input} in {output} out")?;
        let cached = [(request.cache_read, "read"), (request.cache_write, "written")];
        let mut cached = cached.iter().map(|(tokens, how)| (tokens.or_zero(), how)).filter(|(tokens, _)| *tokens > 0);
        cached.try_for_each(|(tokens, how)| write!(f, " {tokens} {how}"))?;
    }
    changes(f, " switched: ", &request.rare.switches)?;
    changes(f, " repaired: ", &request.rare.repairs)?;
    if let Some(failure) = &request.failure {
        f.write_str(" failed: ")?;
        word(f, failure)?;
    }
    Ok(())
}

fn changes(f: &mut fmt::Formatter<'_>, label: &str, changes: &[Text]) -> fmt::Result {
    if changes.is_empty() {
        return Ok(());
    }
    f.write_str(label)?;
    separated(f, " ", changes, |f, change| quoted(f, change))
}

/// Prints one of the crate's own words plainly, and quotes anything else, because a foreign record may hold any text.
fn word(f: &mut fmt::Formatter<'_>, word: &str) -> fmt::Result {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-._:/".contains(c)) {
        f.write_str(word)
    } else {
        quoted(f, word)
    }
}
