import type { Edit } from './configuration.ts';

/** Defects that the checks of the infrastructure must find. */
export interface Planted {
  readonly defect: string;
  readonly edit: Edit;
  /** Text of the fault that the checks in Node report. */
  readonly node: string;
  /** A text that Terraform reports, for defects that it can detect. */
  readonly terraform?: string;
}

const edit = (file: string, from: string, to: string): Edit => ({ file, from, to });

export const planted: readonly Planted[] = [
  {
    defect: 'a misspelt argument',
    edit: edit('functions.tf', 'max_instance_count ', 'max_instances_count '),
    node: 'an argument max_instances_count is not known',
    terraform: 'An argument named "max_instances_count" is not expected here',
  },
  {
    defect: 'a misspelt block',
    edit: edit('queues.tf', 'retry_config {', 'retry_configs {'),
    node: 'an argument retry_configs is not known',
    terraform: 'Blocks of type "retry_configs" are not expected here',
  },
  {
    defect: 'a reference to nothing',
    edit: edit(
      'schedules.tf',
      'google_service_account.scheduler.email',
      'google_service_account.schedular.email',
    ),
    node: 'google_service_account.schedular.email is not declared',
    terraform: 'Reference to undeclared resource',
  },
  {
    defect: 'a text that is no HCL',
    edit: edit('buckets.tf', 'versioning {', 'versioning {{'),
    node: 'parse config',
    terraform: 'buckets.tf',
  },
  {
    defect: 'a broad role',
    edit: edit('access.tf', '"roles/datastore.user"', '"roles/datastore.owner"'),
    node: 'roles/datastore.owner is not one of the allowed roles',
    terraform: 'A function has a role that is not allowed',
  },
  {
    defect: 'a role for the whole project',
    edit: edit('access.tf', '"roles/logging.logWriter"', '"roles/editor"'),
    node: 'roles/editor is not one of the allowed roles',
    terraform: 'The build account has a role that is not allowed',
  },
  {
    defect: 'a missing exemption of a collection',
    edit: edit('firestore.indexes.json', '"collectionGroup": "runs"', '"collectionGroup": "rums"'),
    node: 'firestore.indexes.json lacks {"collectionGroup":"runs","fieldPath":"*","indexes":[]}',
    terraform: 'The store needs other indexes',
  },
  {
    defect: 'a missing index of a field',
    edit: edit(
      'firestore.indexes.json',
      '"indexes": [\n        {\n          "order": "ASCENDING",\n          "queryScope": "COLLECTION"\n        },',
      '"indexes": [',
    ),
    node: 'firestore.indexes.json lacks {"collectionGroup":"admissions","fieldPath":"order"',
    terraform: 'The store needs other indexes',
  },
  {
    defect: 'an index of vectors of another length',
    edit: edit('firestore.indexes.json', '"dimension": 384', '"dimension": 385'),
    node: 'no query needs {"collectionGroup":"records"',
    terraform: 'Searches need other indexes',
  },
  {
    defect: 'everybody may call an internal function',
    edit: edit(
      'access.tf',
      'member   = google_service_account.tasks["runs"].member',
      'member   = "allUsers"',
    ),
    node: 'only google_cloud_run_service_iam_member.public_edge may grant to allUsers',
    terraform: 'The worker has another caller',
  },
  {
    defect: 'a job without an audience',
    edit: edit('schedules.tf', 'audience              = local.urls[each.key]', ''),
    node: 'the token has no audience',
    terraform: 'A job has no audience of its own function',
  },
  {
    defect: 'a function without a ceiling',
    edit: edit('functions.tf', 'max_instance_count ', 'min_instance_count_unused = 0\n    #'),
    node: 'max_instance_count is not set',
  },
  {
    defect: 'an internal function that the internet reaches',
    edit: edit('functions.tf', '"ALLOW_INTERNAL_ONLY"', '"ALLOW_ALL"'),
    node: 'an internal function accepts requests from other networks',
    terraform: 'A function can be reached around the load balancer',
  },
  {
    defect: 'a database that may be deleted',
    edit: edit(
      'database.tf',
      'var.deletion_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"',
      '"DELETE_PROTECTION_DISABLED"',
    ),
    node: 'delete_protection_state does not follow var.deletion_protection',
    terraform: 'The database is not protected',
  },
  {
    defect: 'a bucket that the public may read',
    edit: edit('buckets.tf', '"enforced"', '"inherited"'),
    node: 'public_access_prevention is not enforced',
    terraform: 'A bucket may be opened to the public',
  },
  {
    defect: 'a queue that gives up',
    edit: edit('queues.tf', '= -1', '= 100'),
    node: 'gives up: max_attempts is not -1',
    terraform: 'A queue gives up',
  },
  {
    defect: 'a scheduled function that nothing calls',
    edit: edit('access.tf', 'for_each = toset(local.scheduled)', 'for_each = toset([])'),
    node: 'the function reconcile has no caller',
    terraform: 'A scheduled function has another caller',
  },
  {
    defect: 'an account that is made before its API is on',
    edit: edit('accounts.tf', 'depends_on = [google_project_service.this]', ''),
    node: 'google_service_account.function: may be created before its API is on',
  },
  {
    defect: 'settings that are destroyed while functions mount them',
    edit: edit('secrets.tf', 'create_before_destroy = true', 'create_before_destroy = false'),
    node: 'google_secret_manager_secret_version.settings: is removed before its successor is there',
  },
  {
    defect: 'functions that start before the composite indexes',
    edit: edit('functions.tf', 'google_firestore_index.this,', ''),
    node: 'google_cloudfunctions2_function.this: starts before google_firestore_index.this is there',
  },
];
