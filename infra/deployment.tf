# The output that `svc doctor --cloud --deployment` reads: who has which right on what. docs/deploy.md shows its use.
output "deployment" {
  description = "What is deployed, with the rights that the preflight checks."
  value = {
    project_id  = var.project
    location    = var.region
    database_id = google_firestore_database.this.name

    functions = {
      for name in keys(local.functions) : name => {
        service         = google_cloudfunctions2_function.this[name].name
        service_account = google_service_account.function[name].email
        invokers = (
          contains(keys(local.public), name) ? ["allUsers"]
          : contains(local.scheduled, name) ? [google_service_account.scheduler.member]
          : [google_service_account.tasks["runs"].member]
        )
      }
    }

    queues = {
      for queue in google_cloud_tasks_queue.runs : queue.name => { enqueuers = local.queueing_accounts }
    }

    jobs = {
      for job in google_cloud_scheduler_job.this : job.name => {
        service_account = job.http_target[0].oidc_token[0].service_account_email
        audience        = job.http_target[0].oidc_token[0].audience
      }
    }

    # Without a version the secret api-keys is not read.
    secrets = {
      for name in concat(keys(local.settings_texts), var.api_keys_version == null ? [] : ["api-keys"]) :
      google_secret_manager_secret.this[name].secret_id => {
        role = "roles/secretmanager.secretAccessor"
        service_accounts = [
          for function in keys(local.functions) : google_service_account.function[function].email
          if name == "api-keys" ? contains(keys(local.public), function) : local.settings_of[function] == name
        ]
      }
    }

    buckets = {
      for name, bucket in google_storage_bucket.this : bucket.name => {
        role = "roles/storage.objectUser"
        service_accounts = [
          for function, it in local.functions : google_service_account.function[function].email if contains(it.buckets, name)
        ]
      }
    }

    service_accounts = merge(
      { for name, grant in google_project_iam_member.database : google_service_account.function[name].email => { roles = [grant.role], users = [] } },
      { for account in google_service_account.tasks : account.email => { roles = [], users = local.queueing_accounts } },
      { (google_service_account.scheduler.email) = { roles = [], users = [] } },
    )
  }
}

locals {
  queueing_accounts = [for name, it in local.functions : google_service_account.function[name].email if it.queues]
}
