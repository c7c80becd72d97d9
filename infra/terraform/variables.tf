variable "table_name" {
  description = "The name of the table, which the service is configured with."
  type        = string
  default     = "verbale"

  validation {
    condition     = can(regex("^[a-zA-Z0-9_.-]{3,255}$", var.table_name))
    error_message = "A table's name has 3 to 255 of [a-zA-Z0-9_.-]."
  }
}

variable "stream_view_type" {
  description = "The images that the stream shows of a change. An old image shows erased contents to consumers again."
  type        = string
  default     = "NEW_IMAGE"

  validation {
    condition     = contains(["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"], var.stream_view_type)
    error_message = "The stream shows KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES."
  }
}

variable "kms_key_arn" {
  description = "Your own KMS key, whose policy must let the roles use it through DynamoDB. Null: the key that AWS manages."
  type        = string
  default     = null
}

variable "model_arns" {
  description = "Foundation models that are invoked directly: arn:aws:bedrock:<region>::foundation-model/<model id>."
  type        = list(string)
  default     = []
}

variable "inference_profile_arns" {
  description = "Inference profiles: arn:aws:bedrock:<region>:<account>:inference-profile/<profile id>."
  type        = list(string)
  default     = []
}

variable "profile_model_arns" {
  description = "The foundation models that the profiles route to, in each region, as GetInferenceProfile lists them."
  type        = list(string)
  default     = []
}
