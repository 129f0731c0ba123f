terraform {
  required_version = ">= 1.9"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.45, < 8.0"
    }
  }

  # Keep the state in a bucket with versions, apart from the service:
  #   terraform init -backend-config="bucket=my-project-terraform"
  backend "gcs" {
    prefix = "svc"
  }
}

provider "google" {
  project = var.project
  region  = var.region
}

variable "project" {
  description = "Id of the Google Cloud project."
  type        = string
}

variable "region" {
  description = "Region of the functions and their queues."
  type        = string
}

variable "domain" {
  description = "Host name of the public address."
  type        = string
}

variable "bundle" {
  description = "Path of the zip file with the content of dist/functions."
  type        = string
}

variable "firestore_location" {
  description = "Location of the Firestore database; null: that of the region. It cannot be changed later."
  type        = string
  default     = null
}

variable "deletion_protection" {
  description = "Whether the data is protected. Set it to false only to remove the deployment."
  type        = bool
  default     = true
}

module "svc" {
  source = "../.."

  project       = var.project
  region        = var.region
  domain        = var.domain
  bundle        = var.bundle
  settings_json = file("${path.module}/svcsettings.json")

  deletion_protection = var.deletion_protection

  database = { location = var.firestore_location }

  # min_instances = 1 keeps an instance ready: no call waits for a start, and the instance costs money all month.
  sizes = {
    canonical = { max_instances = 50 }
  }
}

output "svc" {
  description = "Addresses, names and accounts of the deployment."
  value       = module.svc
}
