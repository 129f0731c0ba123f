import type { Deployment, ReadResource } from '../../../cli/doctor/cloud/deployment.ts';
import type { WantedIndexes } from '../../../cli/doctor/cloud/firestore.ts';
import { memberOf } from '../../../cli/doctor/cloud/iam.ts';
import {
  deployerPermissions,
  preflightPermissions,
  services,
} from '../../../cli/doctor/cloud/permissions.ts';

/** The state of one project behind Google's APIs. Tests change it as an accident would. */

interface Binding {
  readonly role: string;
  readonly members: string[];
}

export type Resource = Record<string, unknown>;

export interface CloudProject {
  readonly projectId: string;
  /** The permissions of the operator in it. */
  readonly permissions: Set<string>;
  readonly enabled: Set<string>;
  billingEnabled: boolean;
  /** By the path under the API's host and version, such as `projects/p/locations/l/queues/q`. */
  readonly resources: Map<string, Resource>;
  /** By the same path. */
  readonly policies: Map<string, Binding[]>;
  readonly fields: Resource[];
  readonly indexes: Resource[];
  /** Buckets that hold objects. */
  readonly objects: Set<string>;
}

export function emptyProject(projectId: string): CloudProject {
  return {
    projectId,
    permissions: new Set([...preflightPermissions, ...deployerPermissions]),
    enabled: new Set([...services, 'cloudbilling.googleapis.com']),
    billingEnabled: true,
    resources: new Map(),
    policies: new Map(),
    fields: [],
    indexes: [],
    objects: new Set(),
  };
}

/** Adds all that the deployment describes, whole. */
export function deployInto(project: CloudProject, deployment: Deployment, wanted: WantedIndexes): void {
  const { projectId } = project;
  const { resources, policies } = project;
  const place = `projects/${projectId}/locations/${deployment.location}`;
  const database = `projects/${projectId}/databases/${deployment.databaseId}`;
  resources.set(database, {
    name: database,
    type: 'FIRESTORE_NATIVE',
    locationId: deployment.location,
    concurrencyMode: 'PESSIMISTIC',
    pointInTimeRecoveryEnablement: 'POINT_IN_TIME_RECOVERY_ENABLED',
    deleteProtectionState: 'DELETE_PROTECTION_ENABLED',
  });
  addIndexes(project, database, wanted);
  for (const { name, enqueuers } of deployment.queues) {
    const path = `${place}/queues/${name}`;
    const retryConfig = { maxAttempts: -1, minBackoff: '1s', maxBackoff: '60s', maxDoublings: 16 };
    resources.set(path, { name: path, state: 'RUNNING', retryConfig });
    policies.set(path, [{ role: 'roles/cloudtasks.enqueuer', members: enqueuers.map(memberOf) }]);
  }
  for (const { name, account, audience } of deployment.jobs) {
    const path = `${place}/jobs/${name}`;
    const oidcToken = { serviceAccountEmail: account, audience };
    const httpTarget = { uri: `https://${name}.a.run.app/`, httpMethod: 'POST', oidcToken };
    resources.set(path, {
      name: path,
      state: 'ENABLED',
      schedule: '* * * * *',
      timeZone: 'Etc/UTC',
      httpTarget,
    });
  }
  for (const secret of deployment.secrets) addSecret(project, secret);
  for (const { name, role, accounts } of deployment.buckets) {
    const iamConfiguration = {
      publicAccessPrevention: 'enforced',
      uniformBucketLevelAccess: { enabled: true },
    };
    resources.set(`b/${name}`, { kind: 'storage#bucket', name, iamConfiguration });
    policies.set(`b/${name}`, [{ role, members: accounts.map(memberOf) }]);
  }
  addFunctions(project, deployment, place);
}

function addSecret(
  { projectId, resources, policies }: CloudProject,
  { name, role, accounts }: ReadResource,
): void {
  const path = `projects/${projectId}/secrets/${name}`;
  resources.set(path, { name: path, replication: { automatic: {} } });
  resources.set(`${path}/versions/latest`, { name: `${path}/versions/1`, state: 'ENABLED' });
  policies.set(path, [{ role, members: accounts.map(memberOf) }]);
}

function addFunctions(project: CloudProject, { functions, accounts }: Deployment, place: string): void {
  const { projectId, resources, policies } = project;
  for (const { service, account, invokers } of functions) {
    const path = `${place}/functions/${service}`;
    const serviceConfig = { service: `${place}/services/${service}`, serviceAccountEmail: account };
    resources.set(path, { name: path, environment: 'GEN_2', state: 'ACTIVE', serviceConfig });
    policies.set(`${place}/services/${service}`, [{ role: 'roles/run.invoker', members: [...invokers] }]);
  }
  const roles = new Map<string, string[]>();
  for (const { email, roles: held, users } of accounts) {
    const path = `projects/${projectId}/serviceAccounts/${email}`;
    resources.set(path, { name: path, projectId, email });
    policies.set(path, [{ role: 'roles/iam.serviceAccountUser', members: users.map(memberOf) }]);
    for (const role of held) roles.set(role, [...(roles.get(role) ?? []), memberOf(email)]);
  }
  policies.set(
    `projects/${projectId}`,
    [...roles].map(([role, members]) => ({ role, members })),
  );
}

function addIndexes({ fields, indexes }: CloudProject, database: string, wanted: WantedIndexes): void {
  for (const { collectionGroup, fieldPath, ttl, indexes: orders } of wanted.fieldOverrides) {
    const made = orders.map(({ order, queryScope }) => ({
      queryScope,
      fields: [{ fieldPath, order }],
      state: 'READY',
    }));
    fields.push({
      name: `${database}/collectionGroups/${collectionGroup}/fields/${fieldPath}`,
      // As the real one does: an exemption is an object without members.
      indexConfig: made.length === 0 ? {} : { indexes: made },
      ...(ttl === true ? { ttlConfig: { state: 'ACTIVE' } } : {}),
    });
  }
  for (const [at, { collectionGroup, queryScope, fields: parts }] of wanted.indexes.entries()) {
    indexes.push({
      name: `${database}/collectionGroups/${collectionGroup}/indexes/CICA${at}`,
      queryScope,
      fields: [...parts, { fieldPath: '__name__', order: 'ASCENDING' }],
      state: 'READY',
    });
  }
}
