locals {
  # Cloud Run gives each service an address that follows from its name. The worker needs its own before it exists.
  urls = {
    for name in keys(local.functions) :
    name => "https://${var.name}-${name}-${data.google_project.this.number}.${var.region}.run.app"
  }

  environment = {
    SVC_SETTINGS                                          = "/etc/svc/settings/svcsettings.json"
    SVC_ENVIRONMENT                                       = "Production"
    NODE_ENV                                              = "production"
    Firestore__ProjectId                                  = var.project
    Firestore__DatabaseId                                 = google_firestore_database.this.name
    Server__TrustedProxyHops                              = tostring(var.trusted_proxy_hops)
    ExecutionRuntime__Adapter                             = "google"
    ExecutionRuntime__ArtifactObjectContainer             = google_storage_bucket.this["artifacts"].name
    ExecutionRuntime__Google__ProjectId                   = var.project
    ExecutionRuntime__Google__LocationId                  = var.region
    ExecutionRuntime__Google__QueueId                     = google_cloud_tasks_queue.runs["runs"].name
    ExecutionRuntime__Google__WorkerUrl                   = "${local.urls["worker"]}/tasks/execution"
    ExecutionRuntime__Google__OidcAudience                = local.urls["worker"]
    ExecutionRuntime__Google__ServiceAccountEmail         = google_service_account.tasks["runs"].email
    HostedWorker__TaskAuthentication__AllowedAudiences__0 = local.urls["worker"]
  }

  # One entry a handler, in a fixed order: an environment variable names its place in the list.
  handler_routes = flatten([
    for route in sort(keys(var.worker_routes)) : [
      for handler in var.worker_routes[route].handlers : { route = route, handler = handler }
    ]
  ])
  route_environment = merge([
    for place, entry in local.handler_routes : {
      "ExecutionRuntime__Google__WorkerRoutes__${place}__HandlerId"           = entry.handler
      "ExecutionRuntime__Google__WorkerRoutes__${place}__WorkerUrl"           = var.worker_routes[entry.route].url
      "ExecutionRuntime__Google__WorkerRoutes__${place}__OidcAudience"        = var.worker_routes[entry.route].audience
      "ExecutionRuntime__Google__WorkerRoutes__${place}__QueueId"             = google_cloud_tasks_queue.runs[entry.route].name
      "ExecutionRuntime__Google__WorkerRoutes__${place}__ServiceAccountEmail" = google_service_account.tasks[entry.route].email
    }
  ]...)

  # The internal functions answer only Cloud Tasks and Cloud Scheduler of this project.
  ingress_of = {
    for name in keys(local.functions) : name => (
      !contains(keys(local.public), name) ? "ALLOW_INTERNAL_ONLY"
      : var.firebase_hosting ? "ALLOW_ALL" : "ALLOW_INTERNAL_AND_GCLB"
    )
  }

  # The scheduled functions are called without an API key: only the scheduler's account reaches them.
  key_file = var.api_keys_version == null ? {} : { Server__ApiKeyFile = "/etc/svc/keys/api-keys.json" }
}

resource "google_storage_bucket_object" "bundle" {
  bucket = google_storage_bucket.this["source"].name
  # A new content is a new object, so that the functions are built again.
  name   = "functions-${filesha256(var.bundle)}.zip"
  source = var.bundle

  # The functions change to the new bundle before the last one goes.
  lifecycle {
    create_before_destroy = true
  }
}

resource "google_artifact_registry_repository" "functions" {
  project       = var.project
  location      = var.region
  repository_id = "${var.name}-functions"
  format        = "DOCKER"
  labels        = local.labels

  depends_on = [google_project_service.this]
}

resource "google_cloudfunctions2_function" "this" {
  for_each = local.functions

  project     = var.project
  location    = var.region
  name        = "${var.name}-${each.key}"
  description = "Function ${each.key} of ${var.name}"
  labels      = local.labels

  build_config {
    runtime           = "nodejs24"
    entry_point       = each.key
    service_account   = google_service_account.build.name
    docker_repository = google_artifact_registry_repository.functions.id

    source {
      storage_source {
        bucket = google_storage_bucket.this["source"].name
        object = google_storage_bucket_object.bundle.name
      }
    }
  }

  service_config {
    available_cpu                    = local.sizes[each.key].cpu
    available_memory                 = local.sizes[each.key].memory
    timeout_seconds                  = local.sizes[each.key].timeout
    max_instance_request_concurrency = local.sizes[each.key].concurrency
    min_instance_count               = local.sizes[each.key].min_instances
    max_instance_count               = local.sizes[each.key].max_instances
    all_traffic_on_latest_revision   = true
    service_account_email            = google_service_account.function[each.key].email
    ingress_settings                 = local.ingress_of[each.key]

    environment_variables = merge(
      local.environment,
      local.route_environment,
      contains(keys(local.public), each.key) ? local.key_file : {},
      each.key == "mcp" ? { Mcp__Enabled = "true" } : {},
    )

    secret_volumes {
      mount_path = "/etc/svc/settings"
      project_id = var.project
      secret     = google_secret_manager_secret.this[local.settings_of[each.key]].secret_id

      versions {
        version = google_secret_manager_secret_version.settings[local.settings_of[each.key]].version
        path    = "svcsettings.json"
      }
    }

    dynamic "secret_volumes" {
      for_each = contains(keys(local.public), each.key) && var.api_keys_version != null ? [var.api_keys_version] : []

      content {
        mount_path = "/etc/svc/keys"
        project_id = var.project
        secret     = google_secret_manager_secret.this["api-keys"].secret_id

        versions {
          version = secret_volumes.value
          path    = "api-keys.json"
        }
      }
    }
  }

  # A function does not start before it may use what it needs.
  depends_on = [
    google_project_iam_member.build_logs,
    google_project_iam_member.build_sources,
    google_artifact_registry_repository_iam_member.build,
    google_project_iam_member.database,
    google_secret_manager_secret_iam_member.settings,
    google_secret_manager_secret_iam_member.api_keys,
    google_cloud_tasks_queue_iam_member.enqueuer,
    google_service_account_iam_member.acts_as_tasks,
    google_storage_bucket_iam_member.function,
    google_firestore_field.this,
    google_firestore_index.this,
  ]
}
