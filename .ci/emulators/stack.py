"""Creates the stack in moto through its CloudFormation API and prints the name of its table.

usage: stack.py <URL of moto> <template>
"""

import json
import sys

import boto3

ROLES = {"Writer", "Reader", "Eraser", "Models", "Profiles"}
MODEL = "arn:aws:bedrock:eu-central-1::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0"
PROFILE = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0"
PARAMETERS = {
    "TableName": "verbale-stack",
    "ModelArns": MODEL,
    "InferenceProfileArns": PROFILE,
    "ProfileModelArns": f"{MODEL},{MODEL.replace('central', 'west')}",
}


def main(url: str, path: str) -> None:
    def client(service: str):
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(service, endpoint_url=url, region_name="eu-central-1", **keys)

    with open(path, encoding="utf-8") as template:
        body = template.read()
    stacks = client("cloudformation")
    stacks.create_stack(
        StackName="verbale",
        TemplateBody=body,
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in PARAMETERS.items()],
        Capabilities=["CAPABILITY_IAM"],
    )
    [stack] = stacks.describe_stacks(StackName="verbale")["Stacks"]
    expect("the stack's status", stack["StackStatus"], "CREATE_COMPLETE")
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    table = client("dynamodb").describe_table(TableName=outputs["TableName"])["Table"]
    expect("the table", outputs["TableArn"], table["TableArn"])
    expect("the stream", outputs["StreamArn"], table["LatestStreamArn"])
    expect("the view type of the stream", table["StreamSpecification"]["StreamViewType"], "NEW_IMAGE")
    expect("the deletion protection", table["DeletionProtectionEnabled"], True)

    iam = client("iam")
    named = {key.removesuffix("PolicyArn"): arn for key, arn in outputs.items() if key.endswith("PolicyArn")}
    expect("the policies", set(named), ROLES)
    resources = {table["TableArn"], f"{table['TableArn']}/index/gsi1", f"{table['TableArn']}/index/gsi2", *PARAMETERS["ProfileModelArns"].split(","), PROFILE}
    for role, arn in named.items():
        version = iam.get_policy_version(PolicyArn=arn, VersionId=iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"])
        document = version["PolicyVersion"]["Document"]
        document = json.loads(document) if isinstance(document, str) else document
        for statement in document["Statement"]:
            found = statement["Resource"]
            found = {found} if isinstance(found, str) else set(found)
            expect(f"unknown resources of {role}", found - resources, set())
    print(outputs["TableName"])


def expect(subject: str, found, expected) -> None:
    if found != expected:
        sys.exit(f"{subject}: {found!r}, not {expected!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
