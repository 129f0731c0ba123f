# The indexes of the database against those that the queries of the store need. The caller gives them, by field with the
# number of its indexes: terraform test -var 'needed_fields={"runs/*"=0,...}', and the composite ones with the length of their
# vectors: -var 'needed_composites={"records/COLLECTION/searchGroup ASCENDING,terms CONTAINS"=0,...}'

mock_provider "google" {}

variables {
  project       = "my-project"
  region        = "europe-west1"
  domain        = "svc.example.com"
  bundle        = "tests/fixtures/bundle.txt"
  settings_json = file("environments/example/svcsettings.json")
}

run "indexes" {
  command = plan

  assert {
    condition = (
      toset(keys(google_firestore_field.this)) == toset(keys(var.needed_fields)) &&
      alltrue([for name, count in var.needed_fields : try(length(google_firestore_field.this[name].index_config[0].indexes), -1) == count])
    )
    error_message = "The store needs other indexes"
  }
  assert {
    condition = (
      toset(keys(google_firestore_index.this)) == toset(keys(var.needed_composites)) &&
      alltrue([for name, length in var.needed_composites : sum(concat([0], [for field in google_firestore_index.this[name].fields : try(field.vector_config[0].dimension, 0)])) == length])
    )
    error_message = "Searches need other indexes"
  }
}
