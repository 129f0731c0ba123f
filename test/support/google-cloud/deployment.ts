import { type Deployment, readDeployment } from '../../../cli/doctor/cloud/deployment.ts';

/** A deployment as Terraform describes it, and what a whole project of it looks like to Google's APIs. */

export const location = 'europe-west1';

/** As `infra/groups.tf` has them. */
const groups = [
  'server',
  'canonical',
  'execution',
  'collections',
  'records',
  'objects',
  'artifacts',
  'embeddings',
  'graph',
  'rag',
  'retrieval',
  'providers',
  'traces',
];
const internal = ['worker', 'reconcile', 'prune'];
const scheduled = ['reconcile', 'prune'];
const starters = ['execution', 'worker', 'reconcile'];
const artifactUsers = ['execution', 'worker', 'prune'];
export const functionNames = [...groups, ...internal];

/** The output `deployment` of `infra/`, with the names that it gives by default. */
export function exampleOutput(projectId: string) {
  const email = (name: string) => `svc-${name}@${projectId}.iam.gserviceaccount.com`;
  const emails = (names: readonly string[]) => names.map(email);
  const caller = (name: string) =>
    groups.includes(name)
      ? 'allUsers'
      : `serviceAccount:${email(scheduled.includes(name) ? 'scheduler' : 'tasks-runs')}`;
  const secret = (readers: readonly string[]) => ({
    role: 'roles/secretmanager.secretAccessor',
    service_accounts: emails(readers),
  });
  const bucket = (users: readonly string[]) => ({
    role: 'roles/storage.objectUser',
    service_accounts: emails(users),
  });
  const database = (name: string) => (name === 'server' ? 'roles/datastore.viewer' : 'roles/datastore.user');
  return {
    project_id: projectId,
    location,
    database_id: '(default)',
    functions: Object.fromEntries(
      functionNames.map((name) => [
        name,
        { service: `svc-${name}`, service_account: email(name), invokers: [caller(name)] },
      ]),
    ),
    queues: { 'svc-runs': { enqueuers: emails(starters) } },
    jobs: Object.fromEntries(
      scheduled.map((name) => [
        `svc-${name}`,
        { service_account: email('scheduler'), audience: `https://svc-${name}-1.${location}.run.app` },
      ]),
    ),
    secrets: {
      'svc-settings': secret(functionNames.filter((name) => !scheduled.includes(name))),
      'svc-settings-maintenance': secret(scheduled),
      'svc-api-keys': secret(groups),
    },
    buckets: Object.fromEntries(
      ['source', 'artifacts', 'objects', 'archives'].map((name) => [
        `${projectId}-svc-${name}`,
        bucket(name === 'artifacts' ? artifactUsers : []),
      ]),
    ),
    service_accounts: {
      ...Object.fromEntries(
        functionNames.map((name) => [email(name), { roles: [database(name)], users: [] }]),
      ),
      [email('tasks-runs')]: { roles: [], users: emails(starters) },
      [email('scheduler')]: { roles: [], users: [] },
    },
  };
}

export function exampleDeployment(projectId: string): Deployment {
  return readDeployment(JSON.stringify(exampleOutput(projectId)), 'deployment.json');
}
