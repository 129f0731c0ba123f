locals {
  settings  = jsondecode(var.settings_json)
  execution = local.settings.Server.ExecutionAccess

  # The scheduler's grant holds in the scheduled functions only, and they ask for no API key.
  maintenance_settings = merge(local.settings, {
    Server = merge(local.settings.Server, {
      RequireApiKey = false
      ApiKeyHashes  = []
      ApiKeyFile    = null
      ExecutionAccess = merge(local.execution, {
        AllowedAudiences = [for name in local.scheduled : local.urls[name]]
        IdentityPolicies = [{
          Principal         = google_service_account.scheduler.email
          ProductId         = local.settings.ExecutionRuntime.ProductPolicies[0].ProductId
          AllowedOperations = ["maintenance"]
        }]
      })
    })
  })

  settings_texts = {
    settings             = var.settings_json
    settings-maintenance = jsonencode(local.maintenance_settings)
  }
  settings_of = {
    for name in keys(local.functions) : name => contains(local.scheduled, name) ? "settings-maintenance" : "settings"
  }
}

resource "google_secret_manager_secret" "this" {
  for_each = toset(["settings", "settings-maintenance", "api-keys"])

  project             = var.project
  secret_id           = "${var.name}-${each.key}"
  labels              = local.labels
  deletion_protection = var.deletion_protection

  replication {
    auto {}
  }

  depends_on = [google_project_service.this]
}

# Settings hold no secret, so the state may. The hashes of API keys are added by hand: see docs/infrastructure.md.
resource "google_secret_manager_secret_version" "settings" {
  for_each = local.settings_texts

  secret      = google_secret_manager_secret.this[each.key].id
  secret_data = each.value

  # Functions change to the new version before the last one is destroyed: an instance mounts its version when it starts.
  lifecycle {
    create_before_destroy = true
  }
}
