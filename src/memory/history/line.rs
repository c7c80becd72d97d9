//! [`Fields`]: arguments and results as `key=value`, on one line that no value can break.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use crate::memory::one_line::one_line;

/// The maximum length of a value, in characters.
const LONGEST: usize = 120;
/// The maximum number of values that a call or a result keeps.
const MOST: usize = 400;

/// The fields that earlier lines have.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    /// The last written values of each key.
    last: HashMap<String, String>,
    /// All written values.
    values: HashSet<String>,
}

/// The fields of a call or a result: each key with its values, in the order of the JSON.
///
/// The entries of a list share their keys, so a list of objects becomes columns: `flight=A1|B2 price=30|45`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<Field>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    /// The keys from the outermost one, without those that are data.
    path: Vec<String>,
    values: Vec<String>,
}

impl Fields {
    pub fn of(json: &Json) -> Self {
        let mut fields = Self::default();
        fields.take(json, &mut Vec::new(), &mut { MOST });
        fields
    }

    /// Adds a text, which may be JSON.
    pub fn add_text(&mut self, text: &str) {
        match serde_json::from_str::<Json>(text) {
            Ok(json) => self.take(&json, &mut Vec::new(), &mut { MOST }),
            Err(_) => self.add(&[], text),
        }
    }

    pub fn add_json(&mut self, json: &Json) {
        self.take(json, &mut Vec::new(), &mut { MOST });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the values with the names of their fields.
    pub fn values(&self) -> impl Iterator<Item = (String, &str)> {
        self.names()
            .zip(&self.0)
            .flat_map(|(name, field)| field.values.iter().map(move |value| (name.clone(), value.as_str())))
    }

    /// Iterates over the fields with one value.
    pub fn single_values(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|field| match field.values.as_slice() {
            [value] => Some(value.as_str()),
            _ => None,
        })
    }

    /// Writes the fields, without those whose key had the same values last, and notes them in `shown`. `keeps` returns
    /// `true` for the key of a single value that is written in any case.
    ///
    /// If the fields do not fit into `room` bytes, those with digits come first, those whose values stand in an earlier line
    /// are left out, and the text ends with `…`.
    pub fn write(&self, room: usize, shown: &mut Shown, keeps: impl Fn(&str, &str) -> bool) -> String {
        let mut written: Vec<Option<(bool, String)>> = Vec::new();
        let mut length = 0;
        for (name, field) in self.names().zip(&self.0) {
            let is_one = field.values.windows(2).all(|pair| matches!(pair, [a, b] if a == b));
            let values: Vec<String> =
                field.values.iter().take(if is_one { 1 } else { MOST }).map(|value| atom(value)).collect();
            let is_kept = matches!(field.values.as_slice(), [value] if keeps(field.key(), value));
            let joined = values.join("|");
            let is_known = shown.last.get(field.key()) == Some(&joined);
            let text = if name.is_empty() { joined } else { format!("{}={joined}", atom(&name)) };
            length += if is_known && !is_kept { 0 } else { text.len() + 1 };
            written.push((is_kept || !is_known).then_some((is_kept, text)));
        }
        let is_cut = length > room;
        let mut left = room;
        if is_cut {
            let mut ranked: Vec<usize> = (0..written.len()).collect();
            let has_digit = |field: &Field| field.values.iter().any(|value| value.contains(|c: char| c.is_numeric()));
            ranked.sort_by_key(|index| !self.0.get(*index).is_some_and(has_digit));
            for index in ranked {
                let (Some(field), Some(text)) = (self.0.get(index), written.get_mut(index)) else { continue };
                let Some((is_kept, line)) = text else { continue };
                let is_old = field.values.iter().all(|value| shown.values.contains(value));
                if *is_kept || (!is_old && line.len() < left) {
                    left = left.saturating_sub(line.len() + 1);
                } else {
                    *text = None;
                }
            }
        }
        let mut text = String::new();
        for (field, line) in self.0.iter().zip(written) {
            let Some((_, line)) = line else { continue };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&line);
            let joined = if field.key().is_empty() {
                line.as_str()
            } else {
                line.split_once('=').map_or("", |(_, joined)| joined)
            };
            shown.last.insert(field.key().to_owned(), joined.to_owned());
            shown.values.extend(field.values.iter().cloned());
        }
        if is_cut {
            text.push_str(if text.is_empty() { "…" } else { " …" });
        }
        text
    }

    /// Iterates over the last keys of the fields, with the key before it if an earlier field has the same.
    fn names(&self) -> impl Iterator<Item = String> {
        let mut taken: HashSet<&str> = HashSet::new();
        self.0.iter().map(move |field| match (taken.insert(field.key()), field.path.as_slice()) {
            (false, [.., parent, last]) => format!("{parent}.{last}"),
            _ => field.key().to_owned(),
        })
    }

    fn take(&mut self, json: &Json, path: &mut Vec<String>, left: &mut usize) {
        if *left == 0 {
            return;
        }
        match json {
            Json::Null => {}
            Json::Bool(bool) => self.count(path, if *bool { "true" } else { "false" }, left),
            Json::Number(number) => self.count(path, &number.to_string(), left),
            Json::String(text) => self.count(path, text, left),
            Json::Array(items) => items.iter().for_each(|item| self.take(item, path, left)),
            Json::Object(entries) => {
                for (key, value) in entries {
                    // A key with a digit is data, such as the id of an account.
                    let is_data = key.chars().any(|c| c.is_ascii_digit()) && value.is_object();
                    if !is_data {
                        path.push(key.clone());
                    }
                    self.take(value, path, left);
                    if !is_data {
                        path.pop();
                    }
                }
            }
        }
    }

    fn count(&mut self, path: &[String], value: &str, left: &mut usize) {
        *left = left.saturating_sub(1);
        self.add(path, value);
    }

    fn add(&mut self, path: &[String], value: &str) {
        if value.trim().is_empty() {
            return;
        }
        // Cut here already, so that a long text takes no memory.
        let value: String = value.chars().take(LONGEST + 1).collect();
        match self.0.iter_mut().find(|field| field.path == path) {
            Some(field) => field.values.push(value),
            None => self.0.push(Field { path: path.to_vec(), values: vec![value] }),
        }
    }
}

impl Field {
    fn key(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

/// Writes a value as one word, or in quotation marks if it has other characters than those of ids, numbers and dates.
pub(crate) fn atom(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.:@+%/$€£".contains(c);
    if !value.is_empty() && value.chars().count() <= LONGEST && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("\"{}\"", one_line(value, LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(json: &str) -> String {
        Fields::of(&serde_json::from_str(json).unwrap()).write(1_000, &mut Shown::default(), |_, _| false)
    }

    #[test]
    fn lists_of_objects_become_columns() {
        let json = r#"{"id": "X1", "day": "2024-05-20", "legs": [{"day": "2024-05-20", "seat": 3}, {"day": "2024-05-20", "seat": 4}],
            "cards": {"card_7": {"left": 2.5}, "card_8": {"left": 3}}, "none": null, "note": "a \"b\"\n#9 c"}"#;
        let expected = r#"legs.day=2024-05-20 cards.left=2.5|3 day=2024-05-20 id=X1 seat=3|4 note="a 'b' #9 c""#;
        let mut written: Vec<String> = written(json).split(' ').map(str::to_owned).collect();
        let mut expected: Vec<String> = expected.split(' ').map(|word| word.replace("cards.", "")).collect();
        written.sort();
        expected.sort();
        assert_eq!(written, expected);
    }

    #[test]
    fn shown_fields_are_left_out_unless_kept() {
        let fields = Fields::of(&serde_json::json!({"id": "X1", "price": 30}));
        let mut shown = Shown::default();
        assert_eq!(fields.write(100, &mut shown, |_, _| false), "id=X1 price=30");
        assert_eq!(fields.write(100, &mut shown, |_, _| false), "");
        assert_eq!(fields.write(100, &mut shown, |_, value| value == "X1"), "id=X1");
        assert_eq!(fields.write(7, &mut Shown::default(), |_, _| false), "id=X1 …");
    }
}
