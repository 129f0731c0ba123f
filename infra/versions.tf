terraform {
  required_version = ">= 1.9"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.45, < 8.0"
    }
  }
}

data "google_project" "this" {
  project_id = var.project
}

locals {
  # A label on all that can carry one, so that costs of this deployment are found.
  labels = { service = var.name }
}
