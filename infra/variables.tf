variable "project" {
  description = "Id of the Google Cloud project."
  type        = string
}

variable "region" {
  description = "Region of the functions, the queues, the schedules and the buckets, such as europe-west1."
  type        = string
}

variable "domain" {
  description = "Host name of the public address, such as svc.example.com. Its DNS record points to the output address."
  type        = string
}

variable "bundle" {
  description = "Path of the zip file with the content of dist/functions."
  type        = string
}

variable "settings_json" {
  description = "Content of svcsettings.json: policies, audiences, handlers and retention. It holds no secret: API keys belong into the secret api-keys."
  type        = string

  validation {
    condition     = can(jsondecode(var.settings_json).Server.CanonicalAccess.IdentityPolicies[0].Principal)
    error_message = "The settings need Server:CanonicalAccess:IdentityPolicies: outside Development the store does not start without a policy."
  }

  validation {
    condition     = can(jsondecode(var.settings_json).Server.ExecutionAccess.IdentityPolicies[0].Principal) && can(jsondecode(var.settings_json).ExecutionRuntime.ProductPolicies[0].ProductId)
    error_message = "The settings need Server:ExecutionAccess:IdentityPolicies and ExecutionRuntime:ProductPolicies, each with an entry: without them no run is served."
  }

  validation {
    condition     = can(jsondecode(var.settings_json).Server.RecordAccess.IdentityPolicies[0].Principal)
    error_message = "The settings need Server:RecordAccess:IdentityPolicies with an entry: without it the functions of collections and records do not start."
  }

  validation {
    condition     = can(jsondecode(var.settings_json).Server.ProviderAccess.IdentityPolicies[0].Principal)
    error_message = "The settings need Server:ProviderAccess:IdentityPolicies with an entry: without it the function of providers does not start."
  }
}

variable "name" {
  description = "Prefix of all names, for more than one deployment in a project."
  type        = string
  default     = "svc"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,14}[a-z0-9]$", var.name))
    error_message = "The name has 3 to 16 lower-case letters, digits and hyphens: the id of a service account has at most 30."
  }
}

variable "database" {
  description = "Id and location of the Firestore database. The location is that of the region unless you name one, such as eur3. It cannot be changed later."
  type = object({
    id       = optional(string, "(default)")
    location = optional(string)
  })
  default = {}

  validation {
    condition     = var.database.location != null || contains(keys(local.firestore_locations), var.region)
    error_message = "Firestore has no location ${var.region} that this module knows. Name the nearest as location of database: gcloud firestore locations list."
  }

  validation {
    condition     = var.database.location == null || can(regex("^([a-z]+-[a-z]+[0-9]+|${join("|", local.firestore_multi_regions)})$", var.database.location))
    error_message = "The location of the database is a region, such as europe-west1, or one of ${join(", ", local.firestore_multi_regions)}."
  }
}

variable "deletion_protection" {
  description = "Whether the provider refuses to delete the database, the buckets and the secrets. Only the removal of a whole deployment sets it to false."
  type        = bool
  default     = true
}

variable "api_keys_version" {
  description = "Version of the secret api-keys that the functions read, or null where callers need no API key. Add the version before you name it."
  type        = string
  default     = null
}

variable "sizes" {
  description = "Sizes of single functions that differ from groups.tf, by function."
  type = map(object({
    memory        = optional(string)
    cpu           = optional(string)
    concurrency   = optional(number)
    min_instances = optional(number)
    max_instances = optional(number)
    timeout       = optional(number)
  }))
  default = {}
}

variable "worker_routes" {
  description = "Workers outside of this deployment that the queue calls, by a short name: the address, and the handlers that run there. Each gets a queue and an account of its own."
  type = map(object({
    url                       = string
    audience                  = string
    handlers                  = list(string)
    max_concurrent_dispatches = optional(number, 100)
    max_dispatches_per_second = optional(number, 100)
  }))
  default = {}

  validation {
    condition = alltrue([
      for route in keys(var.worker_routes) : route != "runs" && can(regex("^[a-z]([a-z0-9-]*[a-z0-9])?$", route)) && length("${var.name}-tasks-${route}") <= 30
    ])
    error_message = "The name of a route has lower-case letters, digits and hyphens, at most 30 with the name and -tasks- before it; runs is the hosted worker."
  }
}

variable "worker_dispatches" {
  description = "Rate of deliveries to the hosted worker: runs at a time, and starts a second."
  type = object({
    max_concurrent = optional(number, 100)
    max_per_second = optional(number, 100)
  })
  default = {}
}

variable "mcp" {
  description = "Whether the MCP endpoint is deployed, as the function mcp at the path /mcp. settings_json may hold its other settings."
  type        = bool
  default     = false
}

variable "firebase_hosting" {
  description = "Whether Firebase Hosting calls the groups beside the load balancer. It reaches only functions that accept requests from all networks."
  type        = bool
  default     = false
}

variable "trusted_proxy_hops" {
  description = "Entries of X-Forwarded-For that the load balancer adds: the address of the caller and its own."
  type        = number
  default     = 2
}

variable "archive_members" {
  description = "Who may write and read archives of tenants, such as user:operator@example.com."
  type        = set(string)
  default     = []
}

variable "notification_channels" {
  description = "Notification channels of all alerts, projects/P/notificationChannels/ID."
  type        = list(string)
  default     = []
}

variable "alerts" {
  description = "Thresholds of the alerts. Set outbox to false where no consumer reads the outbox."
  type = object({
    outbox                    = optional(bool, true)
    oldest_ready_event_sec    = optional(number, 300)
    server_errors_per_minute  = optional(number, 5)
    failed_runs_per_ten_min   = optional(number, 5)
    queue_delay_sec           = optional(number, 300)
    reconcile_silence_minutes = optional(number, 10)
  })
  default = {}

  validation {
    condition     = var.alerts.reconcile_silence_minutes >= 2
    error_message = "Cloud Monitoring takes a silence for one from 2 minutes on."
  }
}
