//! Guesses from the name of a tool whether it only reads.

/// Returns whether the name of a tool suggests that it only reads. Used for calls of imported conversations, whose
/// tools are not declared.
pub(super) fn reads(name: &str) -> bool {
    const READS: [&str; 14] = [
        "get",
        "search",
        "list",
        "find",
        "fetch",
        "lookup",
        "look_up",
        "check",
        "read",
        "query",
        "retrieve",
        "show",
        "think",
        "calculate",
    ];
    let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_lowercase());
    let starts = |verb: &str| name.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb));
    READS.iter().any(|verb| starts(verb) && name.get(verb.len()..).is_some_and(is_whole))
}
