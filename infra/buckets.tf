locals {
  # Days after which a bucket deletes an old version of an object, and moves an object to a cheaper class.
  buckets = {
    source    = { old_versions_days = 30, archive_days = null }
    artifacts = { old_versions_days = 7, archive_days = null }
    objects   = { old_versions_days = 30, archive_days = null }
    archives  = { old_versions_days = 90, archive_days = 30 }
  }
}

resource "google_storage_bucket" "this" {
  for_each = local.buckets

  project                     = var.project
  name                        = "${var.project}-${var.name}-${each.key}"
  location                    = var.region
  labels                      = local.labels
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false
  deletion_policy             = var.deletion_protection ? "PREVENT" : "DELETE"

  versioning {
    enabled = true
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = each.value.old_versions_days
      with_state                 = "ARCHIVED"
    }
  }

  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 7
    }
  }

  dynamic "lifecycle_rule" {
    for_each = each.value.archive_days == null ? [] : [each.value.archive_days]

    content {
      action {
        type          = "SetStorageClass"
        storage_class = "COLDLINE"
      }
      condition {
        age = lifecycle_rule.value
      }
    }
  }

  depends_on = [google_project_service.this]
}
