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
  description = "By role: Writer, Reader, Eraser, and Models and Profiles where there are any."
  value       = { for role, policy in aws_iam_policy.role : role => policy.arn }
}
