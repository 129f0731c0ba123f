locals {
  # The file that `npm run generate` writes from the store's queries, and that firebase-tools deploys too.
  indexes = jsondecode(file("${path.module}/firestore.indexes.json"))

  fields = {
    for field in local.indexes.fieldOverrides : "${field.collectionGroup}/${field.fieldPath}" => {
      collection = field.collectionGroup
      field      = field.fieldPath
      indexes    = field.indexes
      ttl        = try(field.ttl, false)
    }
  }

  composites = {
    for index in local.indexes.indexes :
    "${index.collectionGroup}/${index.queryScope}/${join(",", [for part in index.fields : "${part.fieldPath} ${try(part.order, part.arrayConfig, "VECTOR")}"])}" => index
  }
}

locals {
  # Where Firestore keeps the data of a deployment in this region: the same region, wherever Firestore is. Data in another region cost
  # each call its way there, and the location of a database cannot be changed.
  firestore_locations = {
    for region in [
      "africa-south1",
      "asia-east1", "asia-east2", "asia-northeast1", "asia-northeast2", "asia-northeast3",
      "asia-south1", "asia-south2", "asia-southeast1", "asia-southeast2",
      "australia-southeast1", "australia-southeast2",
      "europe-central2", "europe-north1", "europe-north2", "europe-southwest1",
      "europe-west1", "europe-west2", "europe-west3", "europe-west4", "europe-west6",
      "europe-west8", "europe-west9", "europe-west10", "europe-west12",
      "me-central1", "me-central2", "me-west1",
      "northamerica-northeast1", "northamerica-northeast2", "northamerica-south1",
      "southamerica-east1", "southamerica-west1",
      "us-central1", "us-east1", "us-east4", "us-east5", "us-south1",
      "us-west1", "us-west2", "us-west3", "us-west4",
    ] : region => region
  }

  # Several regions at once: they survive the loss of one, at about twice the price of operations.
  firestore_multi_regions = ["eur3", "nam5", "nam7"]
}

resource "google_firestore_database" "this" {
  project     = var.project
  name        = var.database.id
  location_id = coalesce(var.database.location, lookup(local.firestore_locations, var.region, null))

  type                              = "FIRESTORE_NATIVE"
  database_edition                  = "STANDARD"
  concurrency_mode                  = "PESSIMISTIC"
  app_engine_integration_mode       = "DISABLED"
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_ENABLED"
  delete_protection_state           = var.deletion_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = var.deletion_protection ? "PREVENT" : "DELETE"

  depends_on = [google_project_service.this]
}

# An empty index_config exempts the field; the field * stands for all fields of the collection group.
resource "google_firestore_field" "this" {
  for_each = local.fields

  project    = var.project
  database   = google_firestore_database.this.name
  collection = each.value.collection
  field      = each.value.field

  index_config {
    dynamic "indexes" {
      for_each = each.value.indexes

      content {
        query_scope  = indexes.value.queryScope
        order        = try(indexes.value.order, null)
        array_config = try(indexes.value.arrayConfig, null)
      }
    }
  }

  dynamic "ttl_config" {
    for_each = each.value.ttl ? [true] : []
    content {}
  }
}

resource "google_firestore_index" "this" {
  for_each = local.composites

  project     = var.project
  database    = google_firestore_database.this.name
  collection  = each.value.collectionGroup
  query_scope = each.value.queryScope

  dynamic "fields" {
    for_each = each.value.fields

    content {
      field_path   = fields.value.fieldPath
      order        = try(fields.value.order, null)
      array_config = try(fields.value.arrayConfig, null)

      dynamic "vector_config" {
        for_each = try([fields.value.vectorConfig], [])

        content {
          dimension = vector_config.value.dimension
          flat {}
        }
      }
    }
  }
}
