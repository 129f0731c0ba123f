# A whole deployment with invented answers of the provider. `npx vitest run test/infra` starts this with a provider that
# holds the schema alone, so that nothing is downloaded.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = 1234567890 }
  }
}

override_resource {
  target = google_service_account.tasks["runs"]
  values = {
    email  = "svc-tasks-runs@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-tasks-runs@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.scheduler
  values = {
    email  = "svc-scheduler@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-scheduler@my-project.iam.gserviceaccount.com"
  }
}

# Accounts as the provider names them, so that the test reads whole settings.
override_resource {
  target = google_service_account.function["server"]
  values = {
    email  = "svc-server@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-server@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.function["canonical"]
  values = {
    email  = "svc-canonical@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-canonical@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.function["execution"]
  values = {
    email  = "svc-execution@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-execution@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.function["collections"]
  values = {
    email  = "svc-collections@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-collections@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.function["records"]
  values = {
    email  = "svc-records@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-records@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.function["worker"]
  values = {
    email  = "svc-worker@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-worker@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.function["reconcile"]
  values = {
    email  = "svc-reconcile@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-reconcile@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.function["prune"]
  values = {
    email  = "svc-prune@my-project.iam.gserviceaccount.com"
    member = "serviceAccount:svc-prune@my-project.iam.gserviceaccount.com"
  }
}

variables {
  project       = "my-project"
  region        = "europe-west1"
  domain        = "svc.example.com"
  bundle        = "tests/fixtures/bundle.txt"
  settings_json = file("environments/example/svcsettings.json")
}

run "deployment" {
  assert {
    condition     = alltrue([for grant in google_project_iam_member.database : contains(["roles/datastore.user", "roles/datastore.viewer"], grant.role)])
    error_message = "A function has a role that is not allowed"
  }

  assert {
    condition     = alltrue([for grant in google_project_iam_member.database : strcontains(grant.condition[0].expression, "projects/my-project/databases/(default)")])
    error_message = "A function may use another database"
  }

  assert {
    condition     = google_project_iam_member.build_logs.role == "roles/logging.logWriter" && google_project_iam_member.build_sources.role == "roles/storage.objectViewer"
    error_message = "The build account has a role that is not allowed"
  }

  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_ENABLED" && google_firestore_database.this.deletion_policy == "PREVENT"
    error_message = "The database is not protected"
  }

  assert {
    condition     = google_firestore_database.this.point_in_time_recovery_enablement == "POINT_IN_TIME_RECOVERY_ENABLED"
    error_message = "The database keeps no past"
  }

  assert {
    condition     = alltrue([for bucket in google_storage_bucket.this : bucket.public_access_prevention == "enforced" && bucket.uniform_bucket_level_access])
    error_message = "A bucket may be opened to the public"
  }

  assert {
    condition     = alltrue([for bucket in google_storage_bucket.this : bucket.deletion_policy == "PREVENT" && !bucket.force_destroy && bucket.versioning[0].enabled])
    error_message = "A bucket can lose data"
  }

  assert {
    condition     = google_cloud_run_service_iam_member.deliveries.member == google_service_account.tasks["runs"].member && google_cloud_run_service_iam_member.deliveries.service == "svc-worker"
    error_message = "The worker has another caller"
  }

  assert {
    condition = toset(keys(google_cloud_run_service_iam_member.schedules)) == toset(["prune", "reconcile"]) && alltrue([
      for grant in google_cloud_run_service_iam_member.schedules : grant.member == google_service_account.scheduler.member
    ])
    error_message = "A scheduled function has another caller"
  }

  assert {
    condition     = sort(keys(google_cloud_run_service_iam_member.public_edge)) == sort(keys(local.groups))
    error_message = "The public edge is not the groups"
  }

  assert {
    condition = alltrue([
      for name, job in google_cloud_scheduler_job.this :
      try(job.http_target[0].oidc_token[0].audience, null) == "https://svc-${name}-1234567890.europe-west1.run.app"
    ])
    error_message = "A job has no audience of its own function"
  }

  assert {
    condition = alltrue([
      for name, it in google_cloudfunctions2_function.this :
      it.service_config[0].ingress_settings == (contains(keys(local.groups), name) ? "ALLOW_INTERNAL_AND_GCLB" : "ALLOW_INTERNAL_ONLY")
    ])
    error_message = "A function can be reached around the load balancer"
  }

  assert {
    condition     = alltrue([for queue in google_cloud_tasks_queue.runs : queue.retry_config[0].max_attempts == -1 && queue.retry_config[0].max_backoff == "60s"])
    error_message = "A queue gives up"
  }

  assert {
    condition = alltrue([
      for it in google_cloudfunctions2_function.this :
      coalesce(it.service_config[0].max_instance_count, 0) >= 1 && coalesce(it.service_config[0].max_instance_request_concurrency, 0) >= 1
    ])
    error_message = "A function has no ceiling"
  }

  assert {
    condition     = google_cloudfunctions2_function.this["prune"].service_config[0].max_instance_count == 1
    error_message = "A scheduled function runs more than once at a time"
  }

  assert {
    condition     = length(google_compute_url_map.public.path_matcher[0].route_rules) == length(local.rules)
    error_message = "The URL map has other rules than the catalogue"
  }

  assert {
    condition = alltrue([
      for place, rule in local.rules :
      google_compute_url_map.public.path_matcher[0].route_rules[place].service == google_compute_backend_service.group[rule.group].id &&
      google_compute_url_map.public.path_matcher[0].route_rules[place].priority == place + 1
    ])
    error_message = "A rule leads to another group"
  }

  assert {
    condition     = output.base_url == "https://svc.example.com"
    error_message = "The public address is another one"
  }

  assert {
    condition     = google_secret_manager_secret_version.settings["settings"].secret_data == var.settings_json
    error_message = "The functions read other settings"
  }

  assert {
    condition = (
      jsondecode(google_secret_manager_secret_version.settings["settings-maintenance"].secret_data).Server.ExecutionAccess.IdentityPolicies[*].Principal ==
      [google_service_account.scheduler.email]
    )
    error_message = "More than the scheduler may call the scheduled functions"
  }

  assert {
    condition     = !can(google_cloudfunctions2_function.this["server"].service_config[0].environment_variables["Server__ApiKeyFile"])
    error_message = "A function reads an API key file although the deployment has none"
  }
}
