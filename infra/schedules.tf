locals {
  schedules = {
    reconcile = { schedule = "* * * * *", retries = 0 }
    prune     = { schedule = "0 3 * * *", retries = 3 }
  }
}

resource "google_cloud_scheduler_job" "this" {
  for_each = local.schedules

  project          = var.project
  region           = var.region
  name             = "${var.name}-${each.key}"
  description      = "Calls the function ${each.key}"
  schedule         = each.value.schedule
  time_zone        = "Etc/UTC"
  attempt_deadline = "120s"

  # A call each minute needs no repetition; a call a day does.
  retry_config {
    retry_count          = each.value.retries
    min_backoff_duration = "60s"
    max_backoff_duration = "600s"
  }

  http_target {
    uri         = "${local.urls[each.key]}/"
    http_method = "POST"

    oidc_token {
      service_account_email = google_service_account.scheduler.email
      audience              = local.urls[each.key]
    }
  }

  depends_on = [google_project_service.this]
}
