output "table_name" {
  value = aws_dynamodb_table.log.name
}

output "table_arn" {
  value = aws_dynamodb_table.log.arn
}

output "stream_arn" {
  value = aws_dynamodb_table.log.stream_arn
}

output "policy_arns" {
  description = "The ARNs by role: Writer, Reader and Eraser, and Models and Profiles if any are given."
  value       = { for role, policy in aws_iam_policy.role : role => policy.arn }
}
