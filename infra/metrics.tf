locals {
  # Counters of log lines of the functions, by the message of the line. A test compares the messages with the source.
  counted_lines = {
    dead_letters    = "An outbox event became a dead letter"
    failed_runs     = "A run failed"
    full_owners     = "An owner has stored 80 % of what it may"
    forgotten_runs  = "Active runs were found that would never continue"
    reconcile_calls = "The function reconcile is done"
  }

  function_logs = "resource.type=\"cloud_run_revision\" resource.labels.service_name=~\"^${var.name}-(${join("|", sort(keys(local.functions)))})$\""
}

resource "google_logging_metric" "lines" {
  for_each = local.counted_lines

  project     = var.project
  name        = "${var.name}/${each.key}"
  description = "Log lines: ${each.value}"
  # A line that has no field beside its message may be kept as text.
  filter = "${local.function_logs} (jsonPayload.message=~\"^${each.value}\" OR textPayload=~\"^${each.value}\")"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
  }

  depends_on = [google_project_service.this]
}

# How long the oldest event of a lease was ready. The service logs it from a minute on.
resource "google_logging_metric" "outbox_age" {
  project         = var.project
  name            = "${var.name}/outbox_age"
  description     = "Age in milliseconds of the oldest ready outbox event when a consumer leased it"
  filter          = "${local.function_logs} jsonPayload.message=\"An outbox event waited long for its consumer\""
  value_extractor = "EXTRACT(jsonPayload.ageMs)"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "DISTRIBUTION"
    unit        = "ms"
  }

  bucket_options {
    exponential_buckets {
      num_finite_buckets = 20
      growth_factor      = 2
      scale              = 1000
    }
  }

  depends_on = [google_project_service.this]
}

# A consumer that stops leases nothing, so no age is logged: its calls are counted too.
resource "google_logging_metric" "outbox_leases" {
  project     = var.project
  name        = "${var.name}/outbox_leases"
  description = "Answered calls that lease outbox events"
  filter      = "${local.function_logs} jsonPayload.operation=\"leaseCanonicalOutbox\" jsonPayload.status=200"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
  }

  depends_on = [google_project_service.this]
}
