locals {
  # The file that `npm run generate` writes from the paths of the catalogue; the first rule that matches a path decides.
  routes = jsondecode(file("${path.module}/routes.json"))
  # Those of functions that are deployed: the MCP endpoint may be off.
  rules = [for rule in local.routes.rules : rule if contains(keys(local.public), rule.group)]
}

resource "google_compute_global_address" "public" {
  project = var.project
  name    = "${var.name}-public"

  depends_on = [google_project_service.this]
}

resource "google_compute_region_network_endpoint_group" "group" {
  for_each = local.public

  project               = var.project
  region                = var.region
  name                  = "${var.name}-${each.key}"
  network_endpoint_type = "SERVERLESS"

  cloud_run {
    service = google_cloudfunctions2_function.this[each.key].name
  }
}

resource "google_compute_backend_service" "group" {
  for_each = local.public

  project               = var.project
  name                  = "${var.name}-${each.key}"
  load_balancing_scheme = "EXTERNAL_MANAGED"
  protocol              = "HTTPS"

  backend {
    group = google_compute_region_network_endpoint_group.group[each.key].id
  }

  log_config {
    enable      = true
    sample_rate = 0.1
  }
}

# Prefixes cannot tell /collections/{c}/rag from /collections/{c}/graph, so the rules are path templates. A path that no
# rule matches goes to the function server, which answers 404 as the service does.
resource "google_compute_url_map" "public" {
  project         = var.project
  name            = "${var.name}-public"
  default_service = google_compute_backend_service.group[local.routes.otherwise].id

  host_rule {
    hosts        = [var.domain]
    path_matcher = "groups"
  }

  path_matcher {
    name            = "groups"
    default_service = google_compute_backend_service.group[local.routes.otherwise].id

    dynamic "route_rules" {
      for_each = local.rules

      content {
        priority = route_rules.key + 1
        service  = google_compute_backend_service.group[route_rules.value.group].id

        match_rules {
          full_path_match     = strcontains(route_rules.value.path, "*") ? null : route_rules.value.path
          path_template_match = strcontains(route_rules.value.path, "*") ? route_rules.value.path : null
        }
      }
    }
  }
}

# The proxy changes to the certificate of another domain before the last one goes, so each domain gives a name of its own.
resource "google_compute_managed_ssl_certificate" "public" {
  project = var.project
  name    = "${var.name}-public-${substr(sha256(var.domain), 0, 8)}"

  managed {
    domains = [var.domain]
  }

  lifecycle {
    create_before_destroy = true
  }

  depends_on = [google_project_service.this]
}

resource "google_compute_ssl_policy" "public" {
  project         = var.project
  name            = "${var.name}-public"
  profile         = "MODERN"
  min_tls_version = "TLS_1_2"

  depends_on = [google_project_service.this]
}

resource "google_compute_target_https_proxy" "public" {
  project          = var.project
  name             = "${var.name}-public"
  url_map          = google_compute_url_map.public.id
  ssl_certificates = [google_compute_managed_ssl_certificate.public.id]
  ssl_policy       = google_compute_ssl_policy.public.id
}

# Port 443 only: a redirect from port 80 would come after a token was sent in clear text.
resource "google_compute_global_forwarding_rule" "public" {
  project               = var.project
  name                  = "${var.name}-public"
  load_balancing_scheme = "EXTERNAL_MANAGED"
  ip_address            = google_compute_global_address.public.id
  port_range            = "443"
  target                = google_compute_target_https_proxy.public.id
  labels                = local.labels
}
