//! The numbers that words mean.

use std::collections::HashMap;

use super::entries;

/// The values of the entries of `tens`.
const TENS: [u32; 19] = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 30, 40, 50, 60, 70, 80, 90, 100, 1_000];

pub(super) fn values() -> HashMap<&'static str, u32> {
    let lists = [
        ("digits", (0..=10).collect::<Vec<u32>>()),
        ("ordinals", (1..=10).collect()),
        ("tens", TENS.to_vec()),
        ("hundreds", (2..=9).map(|hundreds| hundreds * 100).collect()),
    ];
    let mut found = HashMap::new();
    for (name, values) in lists {
        for (word, value) in numbered(name, &values) {
            found.entry(word).or_insert(value);
        }
    }
    found
}

/// Returns each word of a list whose entries have these values. An entry can have several words.
pub(super) fn numbered<T: Copy>(name: &str, values: &[T]) -> Vec<(&'static str, T)> {
    let entries = entries(name).flat_map(|list| list.split(", ").zip(values.iter().copied()));
    entries.flat_map(|(entry, value)| entry.split(' ').map(move |word| (word, value))).collect()
}
