output "base_url" {
  description = "Public address of the service."
  value       = "https://${var.domain}"
}

output "address" {
  description = "IP address for the DNS record of the domain."
  value       = google_compute_global_address.public.address
}

output "database" {
  description = "Id of the Firestore database."
  value       = google_firestore_database.this.name
}

output "functions" {
  description = "Name, address and account of each function. The load balancer calls the groups; the others are internal."
  value = {
    for name in keys(local.functions) : name => {
      name    = google_cloudfunctions2_function.this[name].name
      url     = local.urls[name]
      account = google_service_account.function[name].email
    }
  }
}

output "queues" {
  description = "Id and token account of each queue. The queue runs calls the hosted worker; the others have the names of worker routes."
  value = {
    for name, queue in google_cloud_tasks_queue.runs : name => {
      id      = queue.id
      name    = queue.name
      account = google_service_account.tasks[name].email
    }
  }
}

output "schedules" {
  description = "Name of the Cloud Scheduler job of each scheduled function."
  value       = { for name, job in google_cloud_scheduler_job.this : name => job.name }
}

output "scheduler_account" {
  description = "Account whose token the scheduler sends."
  value       = google_service_account.scheduler.email
}

output "secrets" {
  description = "Ids of the secrets: settings, settings-maintenance, api-keys."
  value       = { for name, secret in google_secret_manager_secret.this : name => secret.secret_id }
}

output "buckets" {
  description = "Names of the buckets: source, artifacts, objects, archives."
  value       = { for name, bucket in google_storage_bucket.this : name => bucket.name }
}
