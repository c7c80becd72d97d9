//! [`Fields`]: arguments and results as `key=value`, on one line that no value can break.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::word::{LONGEST, NAME, atom, information, initials, is_named_ids, nominal_length, size};

/// The maximum number of values that a call or a result keeps, and the maximum length of all, in bytes.
const MOST: usize = 400;
const MOST_BYTES: usize = 12_000;
/// The length from which a field costs twice its length, in bytes.
const LENGTH: usize = 100;
/// The maximum number of ids in a list that a line always has.
const FEW: usize = 4;
/// The age at which a field costs twice as much.
const OLD: usize = 200;
/// The factor by which a field without new information costs more.
const KNOWN: usize = 8;

/// The fields that earlier lines have.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    /// The last written values of each name.
    last: HashMap<String, String>,
    /// All written values.
    pub values: HashSet<String>,
    /// The names that occur in several calls, each with its initials once a line has introduced them.
    names: HashMap<String, Option<String>>,
}

impl Shown {
    /// Creates the state before the first line. Names in `repeated` become short.
    pub fn new(repeated: &HashSet<String>) -> Self {
        Self { names: repeated.iter().map(|name| (name.clone(), None)).collect(), ..Self::default() }
    }

    /// Returns whether a line introduced a short name.
    pub fn has_short_names(&self) -> bool {
        self.names.values().any(Option::is_some)
    }

    /// Returns a name as the next line has it: `payment_id(pi)` where it occurs first, and `pi` later.
    fn name(&mut self, name: &str) -> String {
        if let Some(Some(short)) = self.names.get(name) {
            return short.clone();
        }
        let is_taken = |short: &str| {
            self.last.contains_key(short)
                || self.names.iter().any(|(name, known)| name == short || known.as_deref() == Some(short))
        };
        let is_repeated = self.names.contains_key(name);
        match initials(name).filter(|short| is_repeated && !is_taken(short)) {
            Some(short) => {
                let introduced = format!("{name}({short})");
                self.names.insert(name.to_owned(), Some(short));
                introduced
            }
            // In quotation marks, it is not a short name.
            None if is_taken(name) && !is_repeated && !self.last.contains_key(name) => format!("\"{name}\""),
            None => atom(name),
        }
    }
}

/// The fields of a call or a result: each key with its values, in the order of the JSON.
///
/// The entries of a list share their keys, so a list of objects becomes columns: `order=A1|B2 price=30|45`.
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
        fields.take(json, &mut Vec::new(), &mut { MOST_BYTES });
        fields
    }

    /// Adds a text, which may be JSON.
    pub fn add_text(&mut self, text: &str) {
        match serde_json::from_str::<Json>(text) {
            Ok(json) => self.take(&json, &mut Vec::new(), &mut { MOST_BYTES }),
            Err(_) => self.add(&[], text),
        }
    }

    pub fn add_json(&mut self, json: &Json) {
        self.take(json, &mut Vec::new(), &mut { MOST_BYTES });
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

    /// Removes all fields except those whose values `keeps` [keeps](Self::kept).
    pub fn retain(&mut self, keeps: impl Fn(&str, &str) -> bool) {
        self.0.retain(|field| field.is_kept(&keeps));
        self.0.shrink_to_fit();
    }

    /// Iterates over the values of the fields with one value or a few, for all of which `keeps` returns `true`. It gets the
    /// key and the value.
    pub fn kept(&self, keeps: impl Fn(&str, &str) -> bool) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |field| field.is_kept(&keeps)).flat_map(|field| &field.values).map(String::as_str)
    }

    /// Writes the fields whose cost is at most `most`, except those whose key last had the same values, and notes them
    /// in `shown`. A field is always written if `keeps` [keeps](Self::kept) its values. If a field is left out because of
    /// its cost, the text ends with `…`.
    pub fn write(&self, most: usize, costs: &[usize], shown: &mut Shown, keeps: impl Fn(&str, &str) -> bool) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut is_cut = false;
        for ((name, field), cost) in self.names().zip(&self.0).zip(costs) {
            let joined = field.joined();
            let is_kept = field.is_kept(&keeps);
            if !is_kept && shown.last.get(&name) == Some(&joined) {
                continue;
            }
            if !is_kept && *cost > most {
                is_cut = true;
                continue;
            }
            words.push(if name.is_empty() { joined.clone() } else { format!("{}={joined}", shown.name(&name)) });
            shown.values.extend(field.values.iter().map(|value| size(value).to_owned()));
            shown.last.insert(name, joined);
        }
        words.extend(is_cut.then(|| "…".to_owned()));
        words.join(" ")
    }

    /// Returns the cost of each field, and adds its values to `known`. The cost grows with the length and with `age`,
    /// and falls with the information that `known` lacks. A long list costs more than its length.
    pub fn costs(&self, known: &mut HashSet<String>, age: usize) -> Vec<usize> {
        let cost = |field: &Field| {
            let length = NAME + field.nominal_length() + 1;
            let is_new = |value: &&String| known.insert(size(value).to_owned());
            let says: usize = field.values.iter().filter(is_new).map(|value| information(value)).sum();
            let cost = length * (LENGTH + length) * (OLD + age);
            cost.checked_div(says).unwrap_or(cost * KNOWN)
        };
        self.0.iter().map(cost).collect()
    }

    /// Iterates over the last keys of the fields, with the key before it if another field has the same.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        self.0.iter().for_each(|field| *counts.entry(field.key()).or_default() += 1);
        self.0.iter().map(move |field| match (counts.get(field.key()), field.path.as_slice()) {
            (Some(2..), [.., parent, last]) => format!("{parent}.{last}"),
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
        *left = left.saturating_sub((MOST_BYTES / MOST).max(value.len().min(4 * LONGEST)));
        self.add(path, value);
    }

    fn add(&mut self, path: &[String], value: &str) {
        if value.trim().is_empty() {
            return;
        }
        // The value is cut here already, so that a long text takes no memory.
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

    /// Returns whether `keeps` returns `true` for all values, of which there is one, or a few with a key for several ids.
    fn is_kept(&self, keeps: impl Fn(&str, &str) -> bool) -> bool {
        let is_list = self.values.len() <= FEW && is_named_ids(self.key());
        (self.values.len() == 1 || is_list) && self.values.iter().all(|value| keeps(self.key(), value))
    }

    /// Writes the values.
    fn joined(&self) -> String {
        self.written().map(|value| atom(value)).collect::<Vec<_>>().join("|")
    }

    /// Returns the length of the values in the cost of the field, in bytes.
    fn nominal_length(&self) -> usize {
        self.written().map(|value| nominal_length(value) + 1).sum()
    }

    /// Iterates over the values. Equal ones are written once.
    fn written(&self) -> impl Iterator<Item = &String> {
        let is_one = self.values.windows(2).all(|pair| matches!(pair, [a, b] if a == b));
        self.values.iter().take(if is_one { 1 } else { MOST })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::history::word::is_identifier;

    fn written(json: &str) -> String {
        let fields = Fields::of(&serde_json::from_str(json).unwrap());
        fields.write(usize::MAX, &fields.costs(&mut HashSet::new(), 0), &mut Shown::default(), |_, _| false)
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
    fn field_that_shares_its_key_has_the_key_before_it() {
        let fields = Fields::of(&serde_json::json!({"legs": [{"from": "LAX"}, {"from": "SFO"}], "from": "LAX"}));
        let mut names: Vec<String> = fields.names().collect();
        names.sort();
        assert_eq!(names, ["from", "legs.from"]);
    }

    #[test]
    fn shown_fields_are_left_out_unless_kept() {
        let fields = Fields::of(&serde_json::json!({"id": "X1", "price": 30}));
        let costs = fields.costs(&mut HashSet::new(), 0);
        let mut shown = Shown::default();
        assert_eq!(fields.write(usize::MAX, &costs, &mut shown, |_, _| false), "id=X1 price=30");
        assert_eq!(fields.write(usize::MAX, &costs, &mut shown, |_, _| false), "");
        assert_eq!(fields.write(usize::MAX, &costs, &mut shown, |_, value| value == "X1"), "id=X1");
        assert_eq!(fields.write(costs[0], &costs, &mut Shown::default(), |_, _| false), "id=X1 …");
    }

    #[test]
    fn every_line_has_the_ids_of_the_object() {
        let arguments = r##"{"order_id": "#W17", "store_id": "Store 209", "bill": "INV/2026/17", "item_ids": ["4202497723"],
            "seat_ids": ["A1", "A2"], "sizes": ["XL", "XS"], "paid": "yes", "day": "2026-05-20", "price": 30}"##;
        let fields = Fields::of(&serde_json::from_str(arguments).unwrap());
        let costs = fields.costs(&mut HashSet::new(), 0);
        let mut shown = Shown::default();
        let expected =
            r##"bill=INV/2026/17 item_ids=4202497723 order_id="#W17" seat_ids=A1|A2 store_id="Store 209" …"##;
        assert_eq!(fields.write(0, &costs, &mut shown, is_identifier), expected);
        assert_eq!(fields.write(0, &costs, &mut shown, is_identifier), expected);
    }

    #[test]
    fn ids_cost_less_than_words_of_the_same_length() {
        let fields = Fields::of(&serde_json::json!({"a": ["MFRB94", "HSR97W"], "b": ["London", "Madrid"]}));
        let costs = fields.costs(&mut HashSet::new(), 0);
        let mut shown = Shown::default();
        assert!(costs[0] < costs[1], "{costs:?}");
        assert_eq!(fields.write(costs[0], &costs, &mut shown, |_, _| false), "a=MFRB94|HSR97W …");
    }

    #[test]
    fn cost_of_an_id_does_not_depend_on_its_format() {
        let costs = |id: &str| Fields::of(&serde_json::json!({"id": id})).costs(&mut HashSet::new(), 0);
        assert_eq!(costs("MFRB94"), costs("certificate_7504069"));
    }

    #[test]
    fn field_that_says_nothing_new_or_is_long_costs_more() {
        let known = || HashSet::from(["30".to_owned()]);
        let list: Vec<usize> = (100..500).collect();
        let fields = Fields::of(&serde_json::json!({"a": -30, "b": 31, "c": "2024-05-20T10:00", "d": list}));
        let costs = fields.costs(&mut known(), 0);
        assert!(costs[1] < costs[0] && costs[2] < costs[0] && costs[2] < costs[3], "{costs:?}");
        let aged = fields.costs(&mut known(), OLD);
        assert!(aged[1] > costs[1], "{aged:?}");
    }
}
