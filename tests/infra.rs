//! The templates in `infra/` create the same table as the code, and allow exactly what its parts need.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::operation::create_table::CreateTableInput;
use aws_sdk_dynamodb::types::KeySchemaElement;
use serde_json::{Value, json};
use verbale::dynamodb::table_definition;

/// The policy documents by role. References have names of the form `<…>`.
type Policies = BTreeMap<String, Value>;

#[test]
fn stack_creates_the_table_of_the_code() {
    let stack = cloudformation();
    let table = &stack["Resources"]["Table"]["Properties"];
    let code = code();

    assert_eq!(stack["Parameters"]["TableName"]["Default"], "verbale");
    assert_eq!(table["TableName"], json!({"Ref": "TableName"}));
    assert_eq!(table["BillingMode"], code.billing_mode().unwrap().as_str());
    assert_eq!(table["KeySchema"], keys(code.key_schema()));
    let attributes = code.attribute_definitions().iter();
    let attributes = attributes
        .map(|one| json!({"AttributeName": one.attribute_name(), "AttributeType": one.attribute_type().as_str()}));
    assert_eq!(table["AttributeDefinitions"], attributes.collect::<Value>());
    let indexes = code.global_secondary_indexes().iter().map(|index| {
        let projection = index.projection().and_then(|projection| projection.projection_type()).unwrap();
        json!({
            "IndexName": index.index_name(),
            "KeySchema": keys(index.key_schema()),
            "Projection": {"ProjectionType": projection.as_str()},
        })
    });
    assert_eq!(table["GlobalSecondaryIndexes"], indexes.collect::<Value>());
    assert_eq!(table["TimeToLiveSpecification"], json!({"AttributeName": "expires_at", "Enabled": true}));
}

#[test]
fn readme_names_every_kind_of_item() {
    let readme = include_str!("../infra/README.md");
    let (_, list) = readme.split_once("The attribute `entity` is").unwrap();
    let (list, _) = list.split_once("An erased item").unwrap();
    let names =
        include_str!("../src/dynamodb/names.rs").lines().filter_map(|line| line.strip_prefix("pub const ENTITY_"));
    let kinds: Vec<&str> = names.map(|line| line.split('"').nth(1).unwrap()).collect();
    assert_eq!(kinds.len(), 9);
    for kind in kinds {
        assert!(list.contains(&format!("`{kind}`")), "{kind}");
    }
}

#[test]
fn module_creates_the_table_of_the_code() {
    let module = terraform();
    let table = &module["resource"]["aws_dynamodb_table"]["log"];
    let code = code();

    assert_eq!(module["variable"]["table_name"]["default"], "verbale");
    assert_eq!(table["name"], "${var.table_name}");
    assert_eq!(table["billing_mode"], code.billing_mode().unwrap().as_str());
    let [partition, sort] = code.key_schema() else { panic!("not two keys") };
    assert_eq!([&table["hash_key"], &table["range_key"]], [partition.attribute_name(), sort.attribute_name()]);
    let attributes = code.attribute_definitions().iter();
    let attributes = attributes.map(|one| json!({"name": one.attribute_name(), "type": one.attribute_type().as_str()}));
    assert_eq!(table["attribute"], attributes.collect::<Value>());
    let indexes = code.global_secondary_indexes().iter().map(|index| {
        let [partition, sort] = index.key_schema() else { panic!("not two keys") };
        let projection = index.projection().and_then(|projection| projection.projection_type()).unwrap();
        json!({
            "name": index.index_name(), "hash_key": partition.attribute_name(), "range_key": sort.attribute_name(),
            "projection_type": projection.as_str(),
        })
    });
    assert_eq!(table["global_secondary_index"], indexes.collect::<Value>());
    assert_eq!(table["ttl"], json!({"attribute_name": "expires_at", "enabled": true}));
}

#[test]
fn table_is_protected_and_encrypted() {
    let stack = cloudformation();
    let table = &stack["Resources"]["Table"];
    assert_eq!([&table["DeletionPolicy"], &table["UpdateReplacePolicy"]], ["Retain", "Retain"]);
    let table = &table["Properties"];
    assert_eq!(table["DeletionProtectionEnabled"], true);
    assert_eq!(table["PointInTimeRecoverySpecification"], json!({"PointInTimeRecoveryEnabled": true}));
    let key = json!({"Fn::If": ["HasKey", {"Ref": "KmsKeyArn"}, {"Ref": "AWS::NoValue"}]});
    assert_eq!(table["SSESpecification"], json!({"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": key}));
    assert_eq!(table["StreamSpecification"], json!({"StreamViewType": {"Ref": "StreamViewType"}}));

    let module = terraform();
    let table = &module["resource"]["aws_dynamodb_table"]["log"];
    assert_eq!(table["lifecycle"], json!({"prevent_destroy": true}));
    assert_eq!(table["deletion_protection_enabled"], true);
    assert_eq!(table["point_in_time_recovery"], json!({"enabled": true}));
    assert_eq!(table["server_side_encryption"], json!({"enabled": true, "kms_key_arn": "${var.kms_key_arn}"}));
    assert_eq!(
        (&table["stream_enabled"], &table["stream_view_type"]),
        (&json!(true), &json!("${var.stream_view_type}"))
    );

    // An old image would show erased contents to the stream's consumers again.
    assert_eq!(stack["Parameters"]["StreamViewType"]["Default"], "NEW_IMAGE");
    assert_eq!(module["variable"]["stream_view_type"]["default"], "NEW_IMAGE");
}

#[test]
fn roles_allow_exactly_what_their_parts_need() {
    let table = "<table>".to_owned();
    let [by_day, by_caller] = ["gsi1", "gsi2"].map(|index| format!("<table>/index/{index}"));
    let keys = |prefixes: &[&str]| {
        let patterns: Vec<String> = prefixes.iter().map(|prefix| format!("{prefix}*")).collect();
        json!({"ForAllValues:StringLike": {"dynamodb:LeadingKeys": patterns}})
    };
    let dynamodb = |actions: &[&str]| actions.iter().map(|action| format!("dynamodb:{action}")).collect::<Vec<_>>();
    let ask = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"];
    let through = json!({"StringLike": {"bedrock:InferenceProfileArn": "<profiles>"}});
    let statement = |sid: &str, actions: Value, resource: &str| json!({"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource});
    let on_condition = |mut statement: Value, condition: Value| {
        statement["Condition"] = condition;
        statement
    };

    let writes = json!(dynamodb(&["GetItem", "PutItem", "Query", "UpdateItem"]));
    let stores = json!(dynamodb(&["DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"]));
    let reads = json!(dynamodb(&["GetItem", "Query"]));
    let erases = json!(dynamodb(&["BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"]));
    let expected = Policies::from(
        [
            (
                "Writer",
                vec![
                    on_condition(statement("Calls", writes, &table), keys(&["CALL#"])),
                    on_condition(statement("Contents", stores, &table), keys(&["CONTENT#", "OWNER#"])),
                ],
            ),
            (
                "Reader",
                vec![
                    statement("Items", reads, &table),
                    statement("CallsByDay", json!(dynamodb(&["Query"])), &by_day),
                    statement("CallsByCaller", json!(dynamodb(&["Query"])), &by_caller),
                ],
            ),
            (
                "Eraser",
                vec![
                    statement("Items", erases, &table),
                    statement("ErasedCalls", json!(dynamodb(&["Query"])), &by_day),
                ],
            ),
            ("Models", vec![statement("Models", json!(ask), "<models>")]),
            (
                "Profiles",
                vec![
                    statement("Profiles", json!(ask), "<profiles>"),
                    on_condition(statement("ModelsThroughProfiles", json!(ask), "<models of profiles>"), through),
                ],
            ),
        ]
        .map(|(role, statements)| (role.to_owned(), json!({"Version": "2012-10-17", "Statement": statements}))),
    );
    assert_eq!(policies_of_the_stack(), expected);
    assert_eq!(policies_of_the_module(), expected);
}

#[test]
fn stack_and_module_have_the_same_interface() {
    let (stack, module) = (cloudformation(), terraform());
    let snake = |names: &Value| names.as_object().unwrap().keys().map(|name| snake_case(name)).collect::<BTreeSet<_>>();
    assert_eq!(snake(&stack["Parameters"]), snake(&module["variable"]));
    for (parameter, about) in stack["Parameters"].as_object().unwrap() {
        assert_eq!(
            about["Description"].as_str().unwrap().replace("Empty:", "Null:"),
            module["variable"][snake_case(parameter)]["description"],
            "{parameter}"
        );
    }
    for role in policies_of_the_stack().keys() {
        let output = &stack["Outputs"][format!("{role}PolicyArn")]["Value"];
        assert_eq!(*output, json!({"Ref": format!("{role}Policy")}));
        let of_stack = &stack["Resources"][format!("{role}Policy")]["Properties"]["Description"];
        assert_eq!(*of_stack, module["locals"]["policies"][role]["description"]);
    }
}

fn code() -> CreateTableInput {
    table_definition("verbale").unwrap().build().unwrap()
}

fn keys(schema: &[KeySchemaElement]) -> Value {
    let key =
        |key: &KeySchemaElement| json!({"AttributeName": key.attribute_name(), "KeyType": key.key_type().as_str()});
    schema.iter().map(key).collect()
}

fn cloudformation() -> Value {
    serde_json::from_str(include_str!("../infra/cloudformation/verbale.json")).unwrap()
}

/// Returns the module in the JSON form of Terraform, in which an expression is a text `${…}`.
fn terraform() -> Value {
    let files = [include_str!("../infra/terraform/main.tf"), include_str!("../infra/terraform/variables.tf")];
    hcl::from_str(&files.concat()).unwrap()
}

fn policies_of_the_stack() -> Policies {
    let references = [
        (json!({"Fn::GetAtt": ["Table", "Arn"]}), "<table>".to_owned()),
        (json!({"Fn::Sub": "${Table.Arn}/index/gsi1"}), "<table>/index/gsi1".to_owned()),
        (json!({"Fn::Sub": "${Table.Arn}/index/gsi2"}), "<table>/index/gsi2".to_owned()),
        (json!({"Ref": "ModelArns"}), "<models>".to_owned()),
        (json!({"Ref": "InferenceProfileArns"}), "<profiles>".to_owned()),
        (json!({"Ref": "ProfileModelArns"}), "<models of profiles>".to_owned()),
    ];
    let stack = cloudformation();
    let resources = stack["Resources"].as_object().unwrap().iter();
    let policies = resources.filter(|(_, resource)| resource["Type"] == "AWS::IAM::ManagedPolicy");
    policies
        .map(|(name, policy)| {
            let document = resolved(&policy["Properties"]["PolicyDocument"], &references);
            (name.trim_end_matches("Policy").to_owned(), document)
        })
        .collect()
}

fn policies_of_the_module() -> Policies {
    let references = [
        ("${aws_dynamodb_table.log.arn}", "<table>"),
        ("${aws_dynamodb_table.log.arn}/index/gsi1", "<table>/index/gsi1"),
        ("${aws_dynamodb_table.log.arn}/index/gsi2", "<table>/index/gsi2"),
        ("${var.model_arns}", "<models>"),
        ("${var.inference_profile_arns}", "<profiles>"),
        ("${var.profile_model_arns}", "<models of profiles>"),
    ]
    .map(|(reference, name)| (json!(reference), name.to_owned()));
    let module = terraform();
    assert_eq!(
        module["resource"]["aws_iam_policy"]["role"]["policy"],
        "${jsonencode(local.policies[each.key].document)}"
    );
    let policies = module["locals"]["policies"].as_object().unwrap().iter();
    policies.map(|(role, policy)| (role.clone(), resolved(&policy["document"], &references))).collect()
}

/// Replaces references by their names.
fn resolved(value: &Value, references: &[(Value, String)]) -> Value {
    if let Some((_, name)) = references.iter().find(|(reference, _)| reference == value) {
        return json!(name);
    }
    match value {
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), resolved(value, references))).collect()
        }
        Value::Array(values) => values.iter().map(|value| resolved(value, references)).collect(),
        other => other.clone(),
    }
}

/// Converts `TableName` to `table_name`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
