# The effect of single variables.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = 1234567890 }
  }
}

variables {
  project       = "my-project"
  region        = "europe-west1"
  domain        = "svc.example.com"
  bundle        = "tests/fixtures/bundle.txt"
  settings_json = file("environments/example/svcsettings.json")
}

run "api_keys" {
  command = plan

  variables {
    api_keys_version = "latest"
  }

  assert {
    condition = alltrue([
      for name, it in google_cloudfunctions2_function.this :
      can(it.service_config[0].environment_variables["Server__ApiKeyFile"]) == contains(keys(local.groups), name)
    ])
    error_message = "The groups, and only they, read the API keys"
  }
}

run "worker_routes" {
  command = plan

  variables {
    worker_routes = {
      render = { url = "https://render.example.com/tasks", audience = "https://render.example.com", handlers = ["invoice.render", "invoice.send"] }
    }
  }

  assert {
    condition     = toset(keys(google_cloud_tasks_queue.runs)) == toset(["render", "runs"]) && google_cloud_tasks_queue.runs["render"].name == "svc-runs-render"
    error_message = "A route has no queue of its own"
  }

  assert {
    condition = (
      google_cloudfunctions2_function.this["execution"].service_config[0].environment_variables["ExecutionRuntime__Google__WorkerRoutes__1__HandlerId"] == "invoice.send" &&
      google_cloudfunctions2_function.this["execution"].service_config[0].environment_variables["ExecutionRuntime__Google__WorkerRoutes__1__OidcAudience"] == "https://render.example.com"
    )
    error_message = "A handler has no route"
  }
}

run "mcp" {
  command = plan

  variables {
    mcp = true
  }

  assert {
    condition = (
      google_cloudfunctions2_function.this["mcp"].service_config[0].environment_variables["Mcp__Enabled"] == "true" &&
      google_cloudfunctions2_function.this["mcp"].service_config[0].ingress_settings == "ALLOW_INTERNAL_AND_GCLB" &&
      !can(google_cloudfunctions2_function.this["records"].service_config[0].environment_variables["Mcp__Enabled"])
    )
    error_message = "The function of the MCP endpoint does not serve it"
  }

  assert {
    condition     = length(google_compute_url_map.public.path_matcher[0].route_rules) == length(local.routes.rules) && contains([for rule in local.rules : rule.path], "/mcp")
    error_message = "The public address does not lead to the MCP endpoint"
  }
}

run "sizes" {
  command = plan

  variables {
    sizes = { canonical = { max_instances = 50, memory = "2Gi" } }
  }

  assert {
    condition     = google_cloudfunctions2_function.this["canonical"].service_config[0].max_instance_count == 50 && google_cloudfunctions2_function.this["canonical"].service_config[0].available_memory == "2Gi"
    error_message = "A size is not taken"
  }
}

run "database_in_its_region" {
  command = plan

  variables {
    region = "us-central1"
  }

  assert {
    condition     = google_firestore_database.this.location_id == "us-central1"
    error_message = "The database is in another region than the functions"
  }
}

run "database_in_several_regions" {
  command = plan

  variables {
    database = { location = "eur3" }
  }

  assert {
    condition     = google_firestore_database.this.location_id == "eur3"
    error_message = "The database is not where the variable says"
  }
}

run "region_without_firestore" {
  command = plan

  variables {
    region = "us-central2"
  }

  expect_failures = [var.database]
}

run "misspelt_location" {
  command = plan

  variables {
    database = { location = "eur33" }
  }

  expect_failures = [var.database]
}

run "nothing_runs_at_rest" {
  command = plan

  assert {
    condition     = alltrue([for it in google_cloudfunctions2_function.this : it.service_config[0].min_instance_count == 0])
    error_message = "An instance costs money without a call"
  }
}

run "firebase_hosting" {
  command = plan

  variables {
    firebase_hosting = true
  }

  assert {
    condition = alltrue([
      for name, it in google_cloudfunctions2_function.this :
      it.service_config[0].ingress_settings == (contains(keys(local.groups), name) ? "ALLOW_ALL" : "ALLOW_INTERNAL_ONLY")
    ])
    error_message = "Firebase Hosting reaches more or less than the groups"
  }
}

run "removal" {
  command = plan

  variables {
    deletion_protection = false
  }

  assert {
    condition     = google_firestore_database.this.delete_protection_state == "DELETE_PROTECTION_DISABLED" && alltrue([for bucket in google_storage_bucket.this : bucket.deletion_policy == "DELETE"])
    error_message = "A deployment cannot be removed"
  }
}

run "without_policies" {
  command = plan

  variables {
    settings_json = "{}"
  }

  expect_failures = [var.settings_json]
}

run "long_name" {
  command = plan

  variables {
    name = "a-name-that-is-too-long"
  }

  expect_failures = [var.name]
}

run "route_of_the_hosted_worker" {
  command = plan

  variables {
    worker_routes = {
      runs = { url = "https://render.example.com/tasks", audience = "https://render.example.com", handlers = ["invoice.render"] }
    }
  }

  expect_failures = [var.worker_routes]
}

run "long_route" {
  command = plan

  variables {
    worker_routes = {
      a-route-that-is-too-long = { url = "https://render.example.com/tasks", audience = "https://render.example.com", handlers = ["invoice.render"] }
    }
  }

  expect_failures = [var.worker_routes]
}

run "short_silence" {
  command = plan

  variables {
    alerts = { reconcile_silence_minutes = 1 }
  }

  expect_failures = [var.alerts]
}

run "log_lines" {
  command = plan

  assert {
    condition = alltrue([
      for metric in google_logging_metric.lines : strcontains(metric.filter, "jsonPayload.message=~") && strcontains(metric.filter, "OR textPayload=~")
    ])
    error_message = "A line without other fields is not counted"
  }
}

run "another_domain" {
  command = plan

  variables {
    domain = "api.example.com"
  }

  assert {
    condition     = google_compute_managed_ssl_certificate.public.name != "svc-public-${substr(sha256("svc.example.com"), 0, 8)}"
    error_message = "The certificate of another domain has the name of the last one"
  }
}
