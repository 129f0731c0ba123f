locals {
  logged = "resource.type=\"cloud_run_revision\" AND metric.type=\"logging.googleapis.com/user"

  # Alerts on a threshold. Each says what happened and where the remedy is described.
  threshold_alerts = merge(
    {
      dead-letters = {
        title  = "an outbox event became a dead letter"
        filter = "${local.logged}/${google_logging_metric.lines["dead_letters"].name}\""
        above  = 0
        window = "300s"
        reduce = { align = "ALIGN_SUM", cross = "REDUCE_SUM" }
        advice = "No consumer accepted an event as often as allowed. List the dead letters with queryCanonicalOutbox, remove the cause, then replay them."
      }
      server-errors = {
        title  = "requests fail with 5xx"
        filter = "resource.type=\"cloud_run_revision\" AND metric.type=\"run.googleapis.com/request_count\" AND metric.labels.response_code_class=\"5xx\" AND resource.labels.service_name=monitoring.regex.full_match(\"${var.name}-(${join("|", sort(keys(local.public)))})\")"
        above  = var.alerts.server_errors_per_minute
        window = "60s"
        reduce = { align = "ALIGN_SUM", cross = "REDUCE_SUM" }
        advice = "The log lines with severity ERROR name the operation and the cause."
      }
      failed-runs = {
        title  = "many runs fail"
        filter = "${local.logged}/${google_logging_metric.lines["failed_runs"].name}\""
        above  = var.alerts.failed_runs_per_ten_min
        window = "600s"
        reduce = { align = "ALIGN_SUM", cross = "REDUCE_SUM" }
        advice = "The log lines name the runs. GET /execution/runs/{runId} has the error, its history the attempts."
      }
      forgotten-runs = {
        title  = "active runs would never continue"
        filter = "${local.logged}/${google_logging_metric.lines["forgotten_runs"].name}\""
        above  = 0
        window = "300s"
        reduce = { align = "ALIGN_SUM", cross = "REDUCE_SUM" }
        advice = "The answer of the function prune names the runs. This is a defect of the service: report it."
      }
      full-owners = {
        title  = "a tenant or a space has stored 80 % of what it may"
        filter = "${local.logged}/${google_logging_metric.lines["full_owners"].name}\""
        above  = 0
        window = "300s"
        reduce = { align = "ALIGN_SUM", cross = "REDUCE_SUM" }
        advice = "Its writes are refused with quota_exceeded once it is full. svc usage --over 80 names it: delete data, prune runs, or raise the setting."
      }
      queue-age = {
        title  = "deliveries of runs are late"
        filter = "resource.type=\"cloud_tasks_queue\" AND metric.type=\"cloudtasks.googleapis.com/queue/task_attempt_delays\" AND resource.labels.queue_id=monitoring.regex.full_match(\"${join("|", [for queue in google_cloud_tasks_queue.runs : queue.name])}\")"
        above  = var.alerts.queue_delay_sec * 1000
        window = "300s"
        reduce = { align = "ALIGN_PERCENTILE_95", cross = "REDUCE_MAX" }
        advice = "The workers of the queue are slower than the starts, or refuse deliveries. Raise their instances or the rate of the queue."
      }
    },
    var.alerts.outbox ? {
      oldest-ready-event = {
        title  = "outbox events wait long for their consumer"
        filter = "${local.logged}/${google_logging_metric.outbox_age.name}\""
        above  = var.alerts.oldest_ready_event_sec * 1000
        window = "300s"
        reduce = { align = "ALIGN_PERCENTILE_99", cross = "REDUCE_MAX" }
        advice = "The consumer is slower than the commits, or was stopped for a while. Start more consumers."
      }
    } : {},
  )

  # Alerts on silence. Cloud Monitoring counts it from the last line that it has seen.
  absence_alerts = merge(
    {
      reconcile-silent = {
        title  = "reconcile does not run"
        filter = "${local.logged}/${google_logging_metric.lines["reconcile_calls"].name}\""
        window = "${var.alerts.reconcile_silence_minutes * 60}s"
        advice = "Runs whose messages were lost wait. The log of the Cloud Scheduler job reconcile says why its calls fail."
      }
    },
    var.alerts.outbox ? {
      outbox-consumer-silent = {
        title  = "no consumer leases outbox events"
        filter = "${local.logged}/${google_logging_metric.outbox_leases.name}\""
        window = "${max(var.alerts.oldest_ready_event_sec, 300)}s"
        advice = "Events become older while no consumer asks for them. Start the dispatcher."
      }
    } : {},
  )
}

resource "google_monitoring_alert_policy" "threshold" {
  for_each = local.threshold_alerts

  project               = var.project
  display_name          = "${var.name}: ${each.value.title}"
  combiner              = "OR"
  notification_channels = var.notification_channels
  user_labels           = local.labels

  conditions {
    display_name = each.value.title

    condition_threshold {
      filter          = each.value.filter
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.above
      duration        = "0s"

      aggregations {
        alignment_period     = each.value.window
        per_series_aligner   = each.value.reduce.align
        cross_series_reducer = each.value.reduce.cross
      }
    }
  }

  documentation {
    content   = each.value.advice
    mime_type = "text/markdown"
  }
}

resource "google_monitoring_alert_policy" "absence" {
  for_each = local.absence_alerts

  project               = var.project
  display_name          = "${var.name}: ${each.value.title}"
  combiner              = "OR"
  notification_channels = var.notification_channels
  user_labels           = local.labels

  conditions {
    display_name = each.value.title

    condition_absent {
      filter   = each.value.filter
      duration = each.value.window

      aggregations {
        alignment_period     = "60s"
        per_series_aligner   = "ALIGN_SUM"
        cross_series_reducer = "REDUCE_SUM"
      }
    }
  }

  documentation {
    content   = each.value.advice
    mime_type = "text/markdown"
  }
}
