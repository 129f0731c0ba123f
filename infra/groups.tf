locals {
  # The groups of contracts/catalog.json, each one function behind the public address. A new group is one entry.
  #   database  role for the Firestore database: viewer or user
  #   queues    whether the group starts runs, so that it creates tasks
  #   buckets   buckets that it reads and writes: artifacts, objects, archives
  groups = {
    server      = { database = "viewer", queues = false, buckets = ["artifacts"], memory = "512Mi", timeout = 60 }
    canonical   = { database = "user", queues = false, buckets = [], memory = "1Gi", timeout = 300 }
    execution   = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    collections = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    records     = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    objects     = { database = "user", queues = false, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    artifacts   = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    embeddings  = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    graph       = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    rag         = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    retrieval   = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    providers   = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 }
    traces      = { database = "user", queues = false, buckets = [], memory = "1Gi", timeout = 300 }
  }

  # The MCP endpoint, where var.mcp asks for it. It calls the operations of the groups in its own process.
  mcp    = var.mcp ? { mcp = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 300 } } : {}
  public = merge(local.groups, local.mcp)

  # Functions without a group: only Cloud Tasks and Cloud Scheduler call them.
  internal = {
    worker    = { database = "user", queues = true, buckets = ["artifacts"], memory = "1Gi", timeout = 1800 }
    reconcile = { database = "user", queues = true, buckets = ["artifacts"], memory = "512Mi", timeout = 120 }
    prune     = { database = "user", queues = false, buckets = ["artifacts"], memory = "512Mi", timeout = 120 }
  }

  # Instances and requests at a time. One instance of a scheduled function is enough: the next call does the rest.
  sizes = {
    for name in keys(merge(local.public, local.internal)) : name => {
      cpu           = coalesce(try(var.sizes[name].cpu, null), "1")
      memory        = coalesce(try(var.sizes[name].memory, null), merge(local.public, local.internal)[name].memory)
      timeout       = coalesce(try(var.sizes[name].timeout, null), merge(local.public, local.internal)[name].timeout)
      concurrency   = coalesce(try(var.sizes[name].concurrency, null), contains(local.scheduled, name) ? 1 : name == "worker" ? 16 : 80)
      min_instances = coalesce(try(var.sizes[name].min_instances, null), 0)
      max_instances = coalesce(try(var.sizes[name].max_instances, null), contains(local.scheduled, name) ? 1 : 20)
    }
  }

  scheduled = ["prune", "reconcile"]
  functions = merge(local.public, local.internal)
}
