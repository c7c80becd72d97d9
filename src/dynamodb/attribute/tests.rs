//! Values and JSON as attribute values.

use serde_json::json;

use super::*;

fn to_attribute(value: &Value) -> Result<AttributeValue, AttributeError> {
    image(serde_json::to_value(value)?, LEVELS, Form::Tagged)
}

fn from_attribute(attribute: AttributeValue) -> Result<Value, AttributeError> {
    Ok(Value::deserialize(json_of(attribute)?)?)
}

fn map<const N: usize>(entries: [(&str, AttributeValue); N]) -> AttributeValue {
    AttributeValue::M(entries.map(|(key, attribute)| (key.to_owned(), attribute)).into())
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

#[test]
fn every_kind_of_value_has_its_attribute_type() {
    let long = "1.2345678901234567890123456789012345678";
    for (value, attribute) in [
        (Value::Null, AttributeValue::Null(true)),
        (Value::from(true), AttributeValue::Bool(true)),
        (Value::from(""), text("")),
        (Value::from("perché"), text("perché")),
        (Value::from(-7), number("-7")),
        (Value::from(u64::MAX), number("18446744073709551615")),
        (Value::try_from(0.1).unwrap(), number("0.1")),
        (Value::from(long.parse::<Number>().unwrap()), number(long)),
        (Value::from(vec![0, 255]), AttributeValue::B(Blob::new([0, 255]))),
        (Value::from(vec![]), AttributeValue::B(Blob::new([]))),
        (Value::list(["a"]).unwrap(), AttributeValue::L(vec![text("a")])),
        (Value::list(Vec::<Value>::new()).unwrap(), AttributeValue::L(vec![])),
        (Value::map([("a", 1)]).unwrap(), map([("a", number("1"))])),
        (Value::map(Vec::<(String, Value)>::new()).unwrap(), map([])),
    ] {
        assert_eq!(to_attribute(&value), Ok(attribute.clone()));
        assert!(from_attribute(attribute.clone()).unwrap() == value, "{attribute:?}");
    }
}

#[test]
fn set_of_another_writer_is_read_as_sorted_list() {
    let number = |text: &str| text.parse::<Number>().unwrap();
    for (set, list) in [
        (AttributeValue::Ss(vec!["b".into(), "".into(), "a".into()]), Value::list(["", "a", "b"])),
        (
            AttributeValue::Ns(vec!["10".into(), "9".into(), "-1.5".into()]),
            Value::list([number("-1.5"), number("9"), number("10")]),
        ),
        (AttributeValue::Bs(vec![Blob::new([2]), Blob::new([1, 3])]), Value::list([vec![1_u8, 3], vec![2]])),
    ] {
        assert!(from_attribute(set.clone()).unwrap() == list.unwrap(), "{set:?}");
    }
}

#[test]
fn number_normalized_by_dynamodb_is_equal() {
    for (given, stored) in
        [("1E-130", format!("0.{}1", "0".repeat(129))), ("-1.50E40", format!("-15{}", "0".repeat(39)))]
    {
        let value = Value::from(given.parse::<Number>().unwrap());
        assert!(from_attribute(AttributeValue::N(stored)).unwrap() == value, "{given}");
    }
}

#[test]
fn float_halfway_between_two_decimals_is_exact() {
    let value = Value::try_from(f64::from(891.1009_f32)).unwrap();
    let Value::Number(number) = &value else { panic!("no number") };
    assert_eq!(to_attribute(&value), Ok(AttributeValue::N(number.to_string())));
    assert!(from_attribute(to_attribute(&value).unwrap()).unwrap() == value);
}

#[test]
fn map_that_looks_like_a_tag_stays_a_map() {
    let value = Value::map([("$bytes", "aGk=")]).unwrap();
    assert_eq!(to_attribute(&value), Ok(map([("$map", map([("$bytes", text("aGk="))]))])));
    for key in ["$json", "$number", "$unheard-of"] {
        for inner in [Value::from("{}"), Value::from(vec![1]), value.clone(), Value::list([2, 1]).unwrap()] {
            let value = Value::map([(key, inner)]).unwrap();
            assert!(from_attribute(to_attribute(&value).unwrap()).unwrap() == value, "{key}");
        }
    }
}

#[test]
fn map_with_the_escape_key_stays_a_map() {
    for inner in [Value::from(vec![1]), Value::map([("$bytes", "aGk=")]).unwrap()] {
        let value = Value::map([("$map", inner)]).unwrap();
        assert!(from_attribute(to_attribute(&value).unwrap()).unwrap() == value);
    }
}

#[test]
fn map_with_empty_or_too_long_key_becomes_text() {
    let value = Value::map([("", Value::from(1)), ("a", Value::from(b"hi".as_slice()))]).unwrap();
    assert_eq!(to_attribute(&value), Ok(map([("$json", text(r#"{"":1,"a":{"$bytes":"aGk="}}"#))])));
    assert!(from_attribute(to_attribute(&value).unwrap()).unwrap() == value);
    let value = Value::map([("x".repeat(65_536), 1)]).unwrap();
    let attribute = to_attribute(&value).unwrap();
    assert_eq!(attribute.as_m().unwrap().keys().collect::<Vec<_>>(), ["$json"]);
    assert!(from_attribute(attribute).unwrap() == value);
}

#[test]
fn too_deep_value_becomes_text() {
    let nest = |value: Value, times| (0..times).fold(value, |value, _| Value::list([value]).unwrap());
    let wrap = |attribute, times| (0..times).fold(attribute, |attribute, _| AttributeValue::L(vec![attribute]));
    let bytes = || Value::from(b"hi".as_slice());
    let native = AttributeValue::B(Blob::new("hi"));
    let escaped = map([("$json", text(r#"[[{"$bytes":"aGk="}]]"#))]);
    for (value, attribute) in [(nest(bytes(), 31), wrap(native, 31)), (nest(bytes(), 32), wrap(escaped, 30))] {
        assert_eq!(to_attribute(&value), Ok(attribute.clone()));
        assert!(from_attribute(attribute).unwrap() == value);
    }
}

#[test]
fn plain_object_is_never_a_tag() {
    let json = json!({"$number": "1.50"});
    let attribute = image(json.clone(), LEVELS, Form::Plain).unwrap();
    assert_eq!(attribute, map([("$number", text("1.50"))]));
    assert_eq!(json_of(attribute), Ok(json.clone()));
    // DynamoDB would return `1.50` as `1.5`, so it is not a tag.
    let attribute = image(json.clone(), LEVELS, Form::Tagged).unwrap();
    assert_eq!(json_of(attribute), Ok(json));
}

#[test]
fn invalid_attribute_error_hides_its_content() {
    for (attribute, error) in [
        (AttributeValue::N("4711 secret".to_owned()), AttributeError::from(MessageError::NOT_A_NUMBER)),
        (map([("$json", text("secret"))]), AttributeError::new("expected value at line 1 column 1")),
    ] {
        assert_eq!(from_attribute(attribute).unwrap_err(), error);
    }
    let error = serde_json::from_value::<u32>(json!("secret")).unwrap_err();
    assert_eq!(AttributeError::from(error).to_string(), "invalid type: string");
}
