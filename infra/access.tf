# The permissions of the functions and of their callers. No role reaches further than one resource where the resource can be
# named; the roles for a whole project carry a condition that names it.

resource "google_project_iam_member" "database" {
  for_each = local.functions

  project = var.project
  role    = each.value.database == "viewer" ? "roles/datastore.viewer" : "roles/datastore.user"
  member  = google_service_account.function[each.key].member

  condition {
    title      = "only_the_database_of_${replace(var.name, "-", "_")}"
    expression = "resource.name == \"projects/${var.project}/databases/${google_firestore_database.this.name}\""
  }
}

locals {
  # Each function that starts or continues runs, with each queue.
  queue_users = {
    for pair in setproduct([for name, it in local.functions : name if it.queues], keys(local.queues)) :
    "${pair[0]}/${pair[1]}" => { function = pair[0], queue = pair[1] }
  }
  bucket_users = merge([
    for name, it in local.functions : { for bucket in it.buckets : "${name}/${bucket}" => { function = name, bucket = bucket } }
  ]...)
}

resource "google_cloud_tasks_queue_iam_member" "enqueuer" {
  for_each = local.queue_users

  project  = var.project
  location = var.region
  name     = google_cloud_tasks_queue.runs[each.value.queue].name
  role     = "roles/cloudtasks.enqueuer"
  member   = google_service_account.function[each.value.function].member
}

# To make a task that carries an account's token, the maker must be allowed to act as that account.
resource "google_service_account_iam_member" "acts_as_tasks" {
  for_each = local.queue_users

  service_account_id = google_service_account.tasks[each.value.queue].name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.function[each.value.function].member
}

resource "google_storage_bucket_iam_member" "function" {
  for_each = local.bucket_users

  bucket = google_storage_bucket.this[each.value.bucket].name
  role   = "roles/storage.objectUser"
  member = google_service_account.function[each.value.function].member
}

resource "google_storage_bucket_iam_member" "archives" {
  for_each = var.archive_members

  bucket = google_storage_bucket.this["archives"].name
  role   = "roles/storage.objectUser"
  member = each.key
}

resource "google_secret_manager_secret_iam_member" "settings" {
  for_each = local.functions

  project   = var.project
  secret_id = google_secret_manager_secret.this[local.settings_of[each.key]].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.function[each.key].member
}

resource "google_secret_manager_secret_iam_member" "api_keys" {
  for_each = local.public

  project   = var.project
  secret_id = google_secret_manager_secret.this["api-keys"].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.function[each.key].member
}

# The public edge: the load balancer brings no identity to a function, and the service checks each caller itself. The
# ingress of these functions admits the load balancer only.
resource "google_cloud_run_service_iam_member" "public_edge" {
  for_each = local.public

  project  = var.project
  location = var.region
  service  = google_cloudfunctions2_function.this[each.key].name
  role     = "roles/run.invoker"
  member   = "allUsers"
}

resource "google_cloud_run_service_iam_member" "deliveries" {
  project  = var.project
  location = var.region
  service  = google_cloudfunctions2_function.this["worker"].name
  role     = "roles/run.invoker"
  member   = google_service_account.tasks["runs"].member
}

resource "google_cloud_run_service_iam_member" "schedules" {
  for_each = toset(local.scheduled)

  project  = var.project
  location = var.region
  service  = google_cloudfunctions2_function.this[each.key].name
  role     = "roles/run.invoker"
  member   = google_service_account.scheduler.member
}

resource "google_project_iam_member" "build_logs" {
  project = var.project
  role    = "roles/logging.logWriter"
  member  = google_service_account.build.member
}

# The platform copies the bundle into a bucket of its own before it builds.
resource "google_project_iam_member" "build_sources" {
  project = var.project
  role    = "roles/storage.objectViewer"
  member  = google_service_account.build.member

  condition {
    title      = "only_sources_of_functions"
    expression = "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-\") || resource.name.startsWith(\"projects/_/buckets/${google_storage_bucket.this["source"].name}/\")"
  }
}

resource "google_artifact_registry_repository_iam_member" "build" {
  project    = var.project
  location   = var.region
  repository = google_artifact_registry_repository.functions.name
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}
