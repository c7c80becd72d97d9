# The table of verbale's log, and policies for writing, reading and erasing calls and for using models.
# Equal to ../cloudformation/verbale.json; tests/infra.rs compares both with the code and with each other.

resource "aws_dynamodb_table" "log" {
  name                        = var.table_name
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  range_key                   = "sk"
  stream_enabled              = true
  stream_view_type            = var.stream_view_type
  deletion_protection_enabled = true

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  attribute {
    name = "gsi1pk"
    type = "S"
  }

  attribute {
    name = "gsi1sk"
    type = "S"
  }

  attribute {
    name = "gsi2pk"
    type = "S"
  }

  attribute {
    name = "gsi2sk"
    type = "S"
  }

  global_secondary_index {
    name            = "gsi1"
    hash_key        = "gsi1pk"
    range_key       = "gsi1sk"
    projection_type = "ALL"
  }

  global_secondary_index {
    name            = "gsi2"
    hash_key        = "gsi2pk"
    range_key       = "gsi2sk"
    projection_type = "ALL"
  }

  ttl {
    attribute_name = "expires_at"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = var.kms_key_arn
  }

  lifecycle {
    prevent_destroy = true
  }
}

locals {
  policies = {
    Writer = {
      description = "Logs and resumes calls; stores contents and deletes those without owners."
      document = {
        Version = "2012-10-17"
        Statement = [
          {
            Sid       = "Calls"
            Effect    = "Allow"
            Action    = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
            Resource  = aws_dynamodb_table.log.arn
            Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["CALL#*"] } }
          },
          {
            Sid    = "Contents"
            Effect = "Allow"
            Action = [
              "dynamodb:DeleteItem",
              "dynamodb:GetItem",
              "dynamodb:PutItem",
              "dynamodb:Query",
              "dynamodb:UpdateItem",
            ]
            Resource  = aws_dynamodb_table.log.arn
            Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["CONTENT#*", "OWNER#*"] } }
          },
        ]
      }
    }

    Reader = {
      description = "Reads calls and contents, and lists the calls of a day and of a caller."
      document = {
        Version = "2012-10-17"
        Statement = [
          {
            Sid      = "Items"
            Effect   = "Allow"
            Action   = ["dynamodb:GetItem", "dynamodb:Query"]
            Resource = aws_dynamodb_table.log.arn
          },
          {
            Sid      = "CallsByDay"
            Effect   = "Allow"
            Action   = ["dynamodb:Query"]
            Resource = "${aws_dynamodb_table.log.arn}/index/gsi1"
          },
          {
            Sid      = "CallsByCaller"
            Effect   = "Allow"
            Action   = ["dynamodb:Query"]
            Resource = "${aws_dynamodb_table.log.arn}/index/gsi2"
          },
        ]
      }
    }

    Eraser = {
      description = "Erases calls and their contents."
      document = {
        Version = "2012-10-17"
        Statement = [
          {
            Sid    = "Items"
            Effect = "Allow"
            Action = [
              "dynamodb:BatchWriteItem",
              "dynamodb:DeleteItem",
              "dynamodb:GetItem",
              "dynamodb:PutItem",
              "dynamodb:Query",
              "dynamodb:UpdateItem",
            ]
            Resource = aws_dynamodb_table.log.arn
          },
          {
            Sid      = "ErasedCalls"
            Effect   = "Allow"
            Action   = ["dynamodb:Query"]
            Resource = "${aws_dynamodb_table.log.arn}/index/gsi1"
          },
        ]
      }
    }

    Models = {
      description = "Invokes models in their own region for turns and summaries, streamed or not."
      document = {
        Version = "2012-10-17"
        Statement = [
          {
            Sid      = "Models"
            Effect   = "Allow"
            Action   = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
            Resource = var.model_arns
          },
        ]
      }
    }

    Profiles = {
      description = "Invokes models through inference profiles, in the regions that the profiles route to."
      document = {
        Version = "2012-10-17"
        Statement = [
          {
            Sid      = "Profiles"
            Effect   = "Allow"
            Action   = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
            Resource = var.inference_profile_arns
          },
          {
            Sid       = "ModelsThroughProfiles"
            Effect    = "Allow"
            Action    = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
            Resource  = var.profile_model_arns
            Condition = { StringLike = { "bedrock:InferenceProfileArn" = var.inference_profile_arns } }
          },
        ]
      }
    }
  }

  # IAM rejects a policy without a resource.
  wanted = concat(
    ["Writer", "Reader", "Eraser"],
    length(var.model_arns) > 0 ? ["Models"] : [],
    length(var.inference_profile_arns) > 0 ? ["Profiles"] : [],
  )
}

resource "aws_iam_policy" "role" {
  for_each = toset(local.wanted)

  name_prefix = "verbale-${each.key}-"
  description = local.policies[each.key].description
  policy      = jsonencode(local.policies[each.key].document)

  lifecycle {
    precondition {
      condition     = each.key != "Profiles" || length(var.profile_model_arns) > 0
      error_message = "inference_profile_arns needs profile_model_arns: a profile alone allows nothing."
    }
  }
}
