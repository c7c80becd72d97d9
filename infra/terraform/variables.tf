variable "table_name" {
  description = "The name that the service is told."
  type        = string
  default     = "verbale"

  validation {
    condition     = can(regex("^[a-zA-Z0-9_.-]{3,255}$", var.table_name))
    error_message = "A table's name has 3 to 255 of [a-zA-Z0-9_.-]."
  }
}

variable "stream_view_type" {
  description = "What the stream shows of a change. Old images show what was said to a consumer once more when it is erased."
  type        = string
  default     = "NEW_IMAGE"

  validation {
    condition     = contains(["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"], var.stream_view_type)
    error_message = "The stream shows KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES."
  }
}

variable "kms_key_arn" {
  description = "A key of yours, whose policy lets the roles use it through DynamoDB. Null: the key that AWS manages."
  type        = string
  default     = null
}

variable "model_arns" {
  description = "Foundation models that are asked directly: arn:aws:bedrock:<region>::foundation-model/<model id>."
  type        = list(string)
  default     = []
}

variable "inference_profile_arns" {
  description = "Inference profiles: arn:aws:bedrock:<region>:<account>:inference-profile/<profile id>."
  type        = list(string)
  default     = []
}

variable "profile_model_arns" {
  description = "The foundation models, in each region, that the profiles route to, as GetInferenceProfile lists them."
  type        = list(string)
  default     = []
}
