# One account a function: what one of them may do, no other may.
resource "google_service_account" "function" {
  for_each = local.functions

  project      = var.project
  account_id   = "${var.name}-${each.key}"
  display_name = "${var.name}: function ${each.key}"

  depends_on = [google_project_service.this]
}

# Deliveries of each queue carry the token of an account that may call one worker and nothing else.
resource "google_service_account" "tasks" {
  for_each = local.queues

  project      = var.project
  account_id   = "${var.name}-tasks-${each.key}"
  display_name = "${var.name}: deliveries of the queue ${each.value.name}"

  depends_on = [google_project_service.this]
}

resource "google_service_account" "scheduler" {
  project      = var.project
  account_id   = "${var.name}-scheduler"
  display_name = "${var.name}: calls of prune and reconcile"

  depends_on = [google_project_service.this]
}

resource "google_service_account" "build" {
  project      = var.project
  account_id   = "${var.name}-build"
  display_name = "${var.name}: builds the functions"

  depends_on = [google_project_service.this]
}
