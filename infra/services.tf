# Removing the deployment leaves the services enabled: others in the project may use them.
resource "google_project_service" "this" {
  for_each = toset([
    "artifactregistry",
    "cloudbuild",
    "cloudfunctions",
    "cloudscheduler",
    "cloudtasks",
    "compute",
    "firestore",
    "iam",
    "iamcredentials",
    "logging",
    "monitoring",
    "run",
    "secretmanager",
    "storage",
  ])

  project            = var.project
  service            = "${each.key}.googleapis.com"
  disable_on_destroy = false
}
