//! The comparison of an existing table with the definition.

use aws_sdk_dynamodb::types::GlobalSecondaryIndexDescription;

use super::*;

fn description(keys: [&str; 2], index: Option<(&str, [&str; 2])>) -> TableDescription {
    let attribute = |name: &str| {
        AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build().unwrap()
    };
    let names = keys.into_iter().chain(index.into_iter().flat_map(|(_, keys)| keys));
    let indexes = index.map(|(name, keys)| {
        let keys = key_schema(keys).unwrap();
        vec![GlobalSecondaryIndexDescription::builder().index_name(name).set_key_schema(Some(keys)).build()]
    });
    TableDescription::builder()
        .set_key_schema(Some(key_schema(keys).unwrap()))
        .set_attribute_definitions(Some(names.map(attribute).collect()))
        .set_global_secondary_indexes(indexes)
        .build()
}

#[test]
fn difference_names_the_first_mismatch() {
    let index = ("gsi1", ["gsi1pk", "gsi1sk"]);
    let found = |keys, index| difference(&description(keys, index));
    assert_eq!(found(["pk", "sk"], Some(index)), None);
    assert_eq!(found(["id", "sk"], Some(index)).unwrap(), "its keys are id and sk, not pk and sk");
    assert_eq!(found(["pk", "sk"], None).unwrap(), "it has no index gsi1");
    assert_eq!(found(["pk", "sk"], Some(("gsi2", index.1))).unwrap(), "it has no index gsi1");
    assert_eq!(
        found(["pk", "sk"], Some((index.0, ["day", "gsi1sk"]))).unwrap(),
        "the index gsi1's keys are day and gsi1sk, not gsi1pk and gsi1sk"
    );
    let number = AttributeDefinition::builder().attribute_name("sk").attribute_type(ScalarAttributeType::N).build();
    let mut numeric = description(["pk", "sk"], Some(index));
    numeric.attribute_definitions.as_mut().unwrap()[1] = number.unwrap();
    assert_eq!(difference(&numeric).unwrap(), "its key sk is not a string");
}
