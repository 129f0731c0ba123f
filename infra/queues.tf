locals {
  # One queue a worker route: a slow worker holds back no other.
  queues = merge(
    {
      runs = {
        name           = "${var.name}-runs"
        max_concurrent = var.worker_dispatches.max_concurrent
        max_per_second = var.worker_dispatches.max_per_second
      }
    },
    {
      for route, target in var.worker_routes : route => {
        name           = "${var.name}-runs-${route}"
        max_concurrent = target.max_concurrent_dispatches
        max_per_second = target.max_dispatches_per_second
      }
    },
  )
}

# The store decides when a run needs no more deliveries, so the queue never gives up.
resource "google_cloud_tasks_queue" "runs" {
  for_each = local.queues

  project  = var.project
  location = var.region
  name     = each.value.name

  rate_limits {
    max_concurrent_dispatches = each.value.max_concurrent
    max_dispatches_per_second = each.value.max_per_second
  }

  retry_config {
    max_attempts       = -1
    max_retry_duration = "0s"
    min_backoff        = "1s"
    max_backoff        = "60s"
    max_doublings      = 6
  }

  stackdriver_logging_config {
    sampling_ratio = 0.1
  }

  depends_on = [google_project_service.this]
}
