//! Conditions, updates and capacity units, and the errors of invalid expressions.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, ReturnValue};
use verbale::dynamodb::{Item, create_table};

use super::dynamo::{Dynamo, FaultPlan};

fn value(text: &str) -> AttributeValue {
    match text.parse::<f64>() {
        Ok(_) => AttributeValue::N(text.to_owned()),
        Err(_) => AttributeValue::S(text.to_owned()),
    }
}

/// Returns a client of a table with one item, in which `a` is 7, `b` is `text` and `log` is 1.
async fn client() -> Client {
    let client = Dynamo::new(FaultPlan::none()).client();
    create_table(&client, "verbale").await.unwrap();
    let item = [("pk", "p"), ("sk", "s"), ("a", "7"), ("b", "text"), ("log", "1")];
    let item: Item = item.into_iter().map(|(name, text)| (name.to_owned(), value(text))).collect();
    client.put_item().table_name("verbale").set_item(Some(item)).send().await.unwrap();
    client
}

/// Updates the item, or returns the error. `values` are pairs such as `:a` and `7`.
async fn update(
    client: &Client,
    expressions: [Option<&str>; 2],
    names: &[(&str, &str)],
    values: &[(&str, &str)],
) -> Result<Item, String> {
    let [update, condition] = expressions.map(|expression| expression.map(str::to_owned));
    let mut request = client
        .update_item()
        .table_name("verbale")
        .key("pk", value("p"))
        .key("sk", value("s"))
        .set_update_expression(update)
        .set_condition_expression(condition)
        .return_values(ReturnValue::AllNew);
    for (name, attribute) in names {
        request = request.expression_attribute_names(*name, *attribute);
    }
    for (name, text) in values {
        request = request.expression_attribute_values(*name, value(text));
    }
    match request.send().await {
        Ok(output) => Ok(output.attributes.unwrap()),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Err("no".to_owned()),
        Err(error) => Err(error.message().unwrap().to_owned()),
    }
}

#[tokio::test(start_paused = true)]
async fn conditions_evaluate_as_on_aws() {
    let client = client().await;
    for (condition, holds) in [
        ("attribute_exists(a)", true),
        ("attribute_not_exists(a)", false),
        ("attribute_not_exists(absent)", true),
        ("a = :seven AND b = :text", true),
        ("a = :text OR b = :seven", false),
        ("a <> :seven OR absent <> :text", true),
        ("a < :ten", true),
        ("a <= :seven AND a >= :seven", true),
        ("a > :seven", false),
        ("absent < :ten", false),
        ("a BETWEEN :two AND :ten AND b = :text", true),
        ("a BETWEEN :ten AND :two", false),
        ("begins_with(b, :te)", true),
        ("NOT begins_with(b, :te)", false),
        ("NOT (a = :seven AND b = :text)", false),
        ("a = :ten OR a = :seven AND b = :text", true),
        ("(a = :seven OR a = :ten) AND b = :te", false),
        ("not a = :ten and b = :text", true),
    ] {
        let all = [(":seven", "7.0"), (":ten", "10"), (":two", "2"), (":text", "text"), (":te", "te")];
        let used: Vec<_> = all
            .into_iter()
            .filter(|(name, _)| condition.split(|c: char| !c.is_alphanumeric() && c != ':').any(|word| word == *name))
            .collect();
        let outcome = update(&client, [None, Some(condition)], &[], &used).await;
        assert_eq!(outcome.map(drop), if holds { Ok(()) } else { Err("no".to_owned()) }, "{condition}");
    }
}

#[tokio::test(start_paused = true)]
async fn updates_set_remove_and_add() {
    let client = client().await;
    let expression =
        "SET c = :c, d = if_not_exists(d, :c), e = if_not_exists(a, :c), f = a + :n REMOVE b ADD a :n, g :n";
    let item = update(&client, [Some(expression), None], &[], &[(":c", "x"), (":n", "0.5")]).await.unwrap();
    let expected = [
        ("pk", "p"),
        ("sk", "s"),
        ("a", "7.5"),
        ("c", "x"),
        ("d", "x"),
        ("e", "7"),
        ("f", "7.5"),
        ("g", "0.5"),
        ("log", "1"),
    ];
    assert_eq!(item, expected.into_iter().map(|(name, text)| (name.to_owned(), value(text))).collect());
    let item = update(&client, [Some("SET #l = #l - :n"), None], &[("#l", "log")], &[(":n", "3")]).await.unwrap();
    assert_eq!(item["log"], value("-2"));
}

#[tokio::test(start_paused = true)]
async fn invalid_expressions_have_the_errors_of_aws() {
    let client = client().await;
    let condition = |text| [None, Some(text)];
    for (expressions, names, values, refusal) in [
        (
            condition("log = :v"),
            vec![],
            vec![(":v", "1")],
            "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: log",
        ),
        (
            condition("#x = :v"),
            vec![],
            vec![(":v", "1")],
            "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; \
             attribute name: #x",
        ),
        (
            condition("a = :v"),
            vec![("#a", "a")],
            vec![(":v", "1"), (":w", "1")],
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}",
        ),
        (
            condition("a = :v"),
            vec![],
            vec![(":v", "1"), (":w", "1")],
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}",
        ),
        (
            condition("a = :v"),
            vec![],
            vec![],
            "Invalid ConditionExpression: An expression attribute value used in expression is not defined; attribute \
             value: :v",
        ),
        (condition(""), vec![], vec![], "Invalid ConditionExpression: The expression can not be empty;"),
        (condition("a ="), vec![], vec![], "Invalid ConditionExpression: Syntax error; token: \"<EOF>\""),
        (
            [None, None],
            vec![("#a", "a")],
            vec![],
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            [Some("SET sk = :v"), None],
            vec![],
            vec![(":v", "x")],
            "One or more parameter values were invalid: Cannot update attribute sk. This attribute is part of the key",
        ),
        (
            [Some("SET c = absent"), None],
            vec![],
            vec![],
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            [Some("SET b = b + :v"), None],
            vec![],
            vec![(":v", "1")],
            "An operand in the update expression has an incorrect data type",
        ),
    ] {
        assert_eq!(update(&client, expressions, &names, &values).await.unwrap_err(), refusal);
    }
}

#[tokio::test(start_paused = true)]
async fn write_costs_the_larger_item_and_the_index() {
    let client = client().await;
    let put = async |bytes: usize, day: Option<&str>| {
        let mut request = client.put_item().table_name("verbale").item("pk", value("p")).item("sk", value("c"));
        request = request.item("x", AttributeValue::S("x".repeat(bytes)));
        if let Some(day) = day {
            request = request.item("gsi1pk", value(day)).item("gsi1sk", value("start"));
        }
        let output = request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();
        output.consumed_capacity.unwrap().capacity_units.unwrap()
    };
    for (bytes, day, units) in [
        (100, None, 1.0),
        (1_100, None, 2.0),
        (100, None, 2.0),
        (100, Some("DAY#a"), 2.0),
        (100, Some("DAY#a"), 1.0),
        (1_100, Some("DAY#a"), 4.0),
        (100, Some("DAY#b"), 5.0),
        (100, None, 2.0),
    ] {
        assert_eq!(put(bytes, day).await, units, "{bytes} {day:?}");
    }
}
