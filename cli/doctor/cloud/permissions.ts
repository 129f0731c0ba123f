/** The rights that the preflight and a deployment need in the project. */

/** A right by the least predefined role that holds it. */
export type RoleTable = Readonly<Record<string, readonly string[]>>;

/** The preflight reads with these and with no other. They are granted as one role of the project's own. */
export const preflightPermissions: readonly string[] = [
  'cloudfunctions.functions.get',
  'cloudscheduler.jobs.get',
  'cloudtasks.queues.get',
  'cloudtasks.queues.getIamPolicy',
  'datastore.databases.getMetadata',
  'datastore.indexes.list',
  'iam.serviceAccounts.get',
  'iam.serviceAccounts.getIamPolicy',
  'resourcemanager.projects.get',
  'resourcemanager.projects.getIamPolicy',
  'run.services.getIamPolicy',
  'secretmanager.secrets.get',
  'secretmanager.secrets.getIamPolicy',
  'secretmanager.versions.get',
  'serviceusage.services.list',
  'storage.buckets.get',
  'storage.buckets.getIamPolicy',
];

/** The name of that role in the project. */
export const preflightRole = 'svcPreflight';

/** A deployment makes, changes and removes resources with these. */
export const deployerRoles: RoleTable = {
  'roles/artifactregistry.admin': [
    'artifactregistry.repositories.create',
    'artifactregistry.repositories.setIamPolicy',
  ],
  'roles/logging.configWriter': ['logging.logMetrics.create'],
  'roles/serviceusage.serviceUsageAdmin': ['serviceusage.services.enable'],
  'roles/datastore.owner': [
    'datastore.databases.create',
    'datastore.databases.update',
    'datastore.indexes.create',
    'datastore.indexes.update',
  ],
  'roles/cloudtasks.admin': [
    'cloudtasks.queues.create',
    'cloudtasks.queues.update',
    'cloudtasks.queues.setIamPolicy',
  ],
  'roles/cloudscheduler.admin': ['cloudscheduler.jobs.create', 'cloudscheduler.jobs.update'],
  'roles/cloudfunctions.admin': ['cloudfunctions.functions.create', 'cloudfunctions.functions.update'],
  'roles/run.admin': ['run.services.setIamPolicy'],
  'roles/iam.serviceAccountAdmin': ['iam.serviceAccounts.create', 'iam.serviceAccounts.setIamPolicy'],
  'roles/iam.serviceAccountUser': ['iam.serviceAccounts.actAs'],
  'roles/resourcemanager.projectIamAdmin': ['resourcemanager.projects.setIamPolicy'],
  'roles/secretmanager.admin': [
    'secretmanager.secrets.create',
    'secretmanager.secrets.setIamPolicy',
    'secretmanager.versions.add',
  ],
  'roles/storage.admin': ['storage.buckets.create', 'storage.buckets.setIamPolicy', 'storage.objects.create'],
  'roles/monitoring.editor': ['monitoring.alertPolicies.create'],
  'roles/compute.loadBalancerAdmin': [
    'compute.backendServices.create',
    'compute.globalAddresses.create',
    'compute.globalForwardingRules.create',
    'compute.regionNetworkEndpointGroups.create',
    'compute.sslCertificates.create',
    'compute.sslPolicies.create',
    'compute.targetHttpsProxies.create',
    'compute.urlMaps.create',
  ],
};

export const deployerPermissions: readonly string[] = Object.values(deployerRoles).flat();

/** The roles that bring the permissions that are missing. */
export function rolesFor(missing: readonly string[], roles: RoleTable): string[] {
  return Object.entries(roles).flatMap(([role, held]) =>
    held.some((permission) => missing.includes(permission)) ? [role] : [],
  );
}

/** The APIs of a deployment. */
export const services: readonly string[] = [
  'artifactregistry',
  'cloudbuild',
  'cloudfunctions',
  'cloudresourcemanager',
  'cloudscheduler',
  'cloudtasks',
  'compute',
  'firestore',
  'iam',
  'iamcredentials',
  'logging',
  'monitoring',
  'run',
  'secretmanager',
  'serviceusage',
  'storage',
].map((name) => `${name}.googleapis.com`);

/** Terraform and the preflight cannot begin without these; Terraform enables the others. */
export const firstServices: readonly string[] = [
  'cloudresourcemanager.googleapis.com',
  'serviceusage.googleapis.com',
];
