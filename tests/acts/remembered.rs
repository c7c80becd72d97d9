//! [`Remembered`]: a tool call in the memory of a prompt, as a model reads it.

use std::collections::BTreeMap;

use verbale::model::ModelRequest;

/// The parts of a line: `#3 book succeeded: item_id(ii)=7 wish_id=2 -> BOOKED`.
pub struct Remembered {
    pub tool: String,
    pub state: String,
    pub item: Option<u64>,
    pub wish: Option<usize>,
    /// Whether the line has names of fields. One without is about a call in the messages of the request, or an old one.
    pub is_named: bool,
}

/// Returns the tool calls in the memory of a request. A missing field is that of the last line that has it.
pub fn remembered(request: &ModelRequest) -> Vec<Remembered> {
    let memory = request.memory.iter().flat_map(|memory| memory.as_str().lines());
    let mut names = BTreeMap::new();
    let (mut item, mut wish) = (None, None);
    let mut calls = Vec::new();
    for line in memory.filter(|line| line.starts_with('#')) {
        let (head, fields) = line.split_once(": ").unwrap_or((line, ""));
        let arguments = fields.split(" -> ").next().unwrap_or_default();
        let mut words = head.split(' ').skip_while(|word| word.starts_with('#'));
        let (named, bare): (Vec<&str>, Vec<&str>) = arguments.split(' ').partition(|field| field.contains('='));
        for (name, value) in named.iter().filter_map(|field| field.split_once('=')) {
            match full_name(name, &mut names).as_str() {
                "item_id" => item = value.parse().ok(),
                "wish_id" => wish = value.parse().ok(),
                _ => {}
            }
        }
        // Older acts have values without names.
        item = bare.iter().find_map(|value| value.parse().ok()).or(item);
        calls.push(Remembered {
            tool: words.next().unwrap_or_default().to_owned(),
            state: words.next().unwrap_or_default().to_owned(),
            item,
            wish,
            is_named: !named.is_empty(),
        });
    }
    calls
}

/// Returns the full name of a field. `item_id(ii)` introduces a short name, which later lines have.
fn full_name(name: &str, names: &mut BTreeMap<String, String>) -> String {
    match name.strip_suffix(')').and_then(|name| name.split_once('(')) {
        Some((full, short)) => {
            names.insert(short.to_owned(), full.to_owned());
            full.to_owned()
        }
        None => names.get(name).cloned().unwrap_or_else(|| name.to_owned()),
    }
}
