//! Fits the JSON Schemas of tools to a model.

use std::collections::HashMap;

use aws_smithy_types::Document;

use super::profile::Profile;
use super::validate::refused_keys;

type Entries = HashMap<String, Document>;

/// The maximum number of references that are replaced. Further references, and those within their own definition, allow
/// any value.
const MAX_REFERENCES: usize = 500;

/// Keys that do not constrain arguments, so the model loses nothing without them.
const NOTES: [&str; 10] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "examples",
    "default",
    "additionalProperties",
];

/// Changes a schema so that the model accepts it, and returns the keys whose constraints are lost.
///
/// References to definitions are replaced with the definitions, and the properties of alternatives are added to the
/// others. Leaves a schema that the model accepts unchanged.
pub(super) fn fit(schema: &mut Document, profile: &Profile) -> Vec<String> {
    let refused = refused_keys(schema, profile);
    if refused.is_empty() {
        return refused;
    }
    let mut lost: Vec<String> = Vec::new();
    let Document::Object(entries) = schema else { return lost };
    if refused.iter().any(|key| key == "$defs" || key == "definitions") {
        let definitions = definitions_of(entries);
        let mut inlining = Inlining { definitions, open: Vec::new(), left: MAX_REFERENCES, is_incomplete: false };
        for (_, value) in entries.iter_mut().filter(|(key, _)| *key != "$defs" && *key != "definitions") {
            inlining.inline(value);
        }
        lost.extend(inlining.is_incomplete.then(|| "$ref".to_owned()));
    }
    for key in &refused {
        if matches!(key.as_str(), "oneOf" | "allOf" | "anyOf")
            && let Some(Document::Array(alternatives)) = entries.remove(key)
        {
            for alternative in alternatives {
                add_alternative(entries, alternative, key == "allOf");
            }
        }
        entries.remove(key);
        if !NOTES.contains(&key.as_str()) {
            lost.push(key.clone());
        }
    }
    lost
}

/// Adds the properties of an alternative, and its required names if it always applies.
fn add_alternative(entries: &mut Entries, alternative: Document, always_applies: bool) {
    let Document::Object(mut alternative) = alternative else { return };
    if let Some(Document::Object(added)) = alternative.remove("properties") {
        let properties = entries.entry("properties".to_owned()).or_insert_with(|| Document::Object(Entries::new()));
        if let Document::Object(properties) = properties {
            for (name, property) in added {
                properties.entry(name).or_insert(property);
            }
        }
    }
    if always_applies && let Some(Document::Array(added)) = alternative.remove("required") {
        let required = entries.entry("required".to_owned()).or_insert_with(|| Document::Array(Vec::new()));
        if let Document::Array(required) = required {
            let new: Vec<_> = added.into_iter().filter(|name| !required.contains(name)).collect();
            required.extend(new);
        }
    }
}

/// The definitions of a schema, by the references to them.
type Definitions = HashMap<String, Document>;

fn definitions_of(entries: &Entries) -> Definitions {
    let of_key = |key: &'static str| {
        let definitions = entries.get(key).and_then(Document::as_object).into_iter().flatten();
        definitions.map(move |(name, schema)| (format!("#/{key}/{name}"), schema.clone()))
    };
    of_key("$defs").chain(of_key("definitions")).collect()
}

struct Inlining {
    definitions: Definitions,
    /// The references whose definitions are being inlined.
    open: Vec<String>,
    /// The number of references that may still be replaced.
    left: usize,
    /// Whether a reference was replaced by a schema that allows any value.
    is_incomplete: bool,
}

impl Inlining {
    /// Replaces references with their definitions.
    fn inline(&mut self, schema: &mut Document) {
        let reference = schema.as_object().and_then(|entries| entries.get("$ref")).and_then(Document::as_string);
        if let Some(reference) = reference.map(str::to_owned) {
            let mut inlined = self.definition(reference);
            if let (Document::Object(entries), Document::Object(beside)) = (&mut inlined, &mut *schema) {
                beside.remove("$ref");
                entries.extend(beside.drain());
            }
            *schema = inlined;
            return;
        }
        match schema {
            Document::Object(entries) => entries.values_mut().for_each(|value| self.inline(value)),
            Document::Array(items) => items.iter_mut().for_each(|item| self.inline(item)),
            _ => {}
        }
    }

    /// Returns the definition without references.
    fn definition(&mut self, reference: String) -> Document {
        let definition = self.definitions.get(&reference).filter(|_| self.left > 0 && !self.open.contains(&reference));
        let Some(mut definition) = definition.cloned() else {
            self.is_incomplete = true;
            return Document::Object(Entries::new());
        };
        self.left -= 1;
        self.open.push(reference);
        self.inline(&mut definition);
        self.open.pop();
        definition
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::bedrock::document::document_json;
    use crate::bedrock::to_document;
    use crate::message::Value;

    fn fitted(schema: Json, model_id: &str) -> (Json, Vec<String>) {
        let mut document = to_document(&Value::try_from(schema).unwrap());
        let lost = fit(&mut document, &Profile::for_model(model_id));
        (document_json(&document), lost)
    }

    #[test]
    fn definitions_are_inlined_for_nova() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Order",
            "type": "object",
            "properties": {
                "to": {"$ref": "#/$defs/Address", "description": "Where to."},
                "from": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]},
            },
            "required": ["to"],
            "additionalProperties": false,
            "$defs": {
                "Address": {"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}},
                "City": {"type": "string"},
            },
        });
        let address = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let mut described = address.clone();
        described["description"] = "Where to.".into();
        let expected = json!({
            "type": "object",
            "properties": {"to": described, "from": {"anyOf": [address, {"type": "null"}]}},
            "required": ["to"],
        });
        assert_eq!(fitted(schema.clone(), "amazon.nova-pro-v1:0"), (expected.clone(), vec![]));
        assert_eq!(fitted(expected.clone(), "amazon.nova-pro-v1:0"), (expected, vec![]));
        assert_eq!(fitted(schema.clone(), "anthropic.claude-sonnet-5"), (schema, vec![]));
    }

    #[test]
    fn lost_constraints_are_reported() {
        let recursive = json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#/definitions/Tree"}},
            "minProperties": 1,
            "definitions": {"Tree": {"type": "object", "properties": {"left": {"$ref": "#/definitions/Tree"}}}},
        });
        let (schema, lost) = fitted(recursive, "amazon.nova-pro-v1:0");
        assert_eq!(lost, ["$ref", "minProperties"]);
        assert!(!schema.to_string().contains("$ref"));

        let either = json!({
            "type": "object",
            "properties": {"id": {"type": "integer"}},
            "anyOf": [{"required": ["id"]}, {"properties": {"name": {"type": "string"}, "id": {}}, "required": ["name"]}],
            "allOf": [{"required": ["id"]}],
        });
        let expected = json!({
            "type": "object",
            "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
            "required": ["id"],
        });
        let (schema, lost) = fitted(either, "anthropic.claude-sonnet-5");
        assert_eq!((schema, lost), (expected, vec!["allOf".to_owned(), "anyOf".to_owned()]));
    }
}
