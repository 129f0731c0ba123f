import { type Deployment, readDeployment } from '../../../cli/doctor/cloud/deployment.ts';

/** A deployment as Terraform describes it, and what a whole project of it looks like to Google's APIs. */

export const location = 'europe-west1';

const publicFunctions = ['server', 'canonical', 'execution'];

/** As `terraform output -json deployment` prints it. */
export function exampleOutput(projectId: string) {
  const email = (name: string) => `${name}@${projectId}.iam.gserviceaccount.com`;
  const member = (name: string) => `serviceAccount:${email(name)}`;
  const callers: Readonly<Record<string, string>> = {
    worker: member('svc-tasks'),
    reconcile: member('svc-scheduler'),
    prune: member('svc-scheduler'),
  };
  const names = [...publicFunctions, ...Object.keys(callers)];
  const senders = ['canonical', 'execution', 'worker', 'reconcile'].map((name) => email(`svc-${name}`));
  const functions = names.map((name) => [
    name,
    {
      service: `svc-${name}`,
      service_account: email(`svc-${name}`),
      invokers: [callers[name] ?? 'allUsers'],
    },
  ]);
  const accounts = names.map((name) => [
    email(`svc-${name}`),
    { roles: ['roles/datastore.user'], users: [] },
  ]);
  return {
    project_id: projectId,
    location,
    database_id: '(default)',
    functions: Object.fromEntries(functions) as Record<string, { service: string }>,
    queues: { 'svc-runs': { enqueuers: senders } },
    jobs: Object.fromEntries(
      ['reconcile', 'prune'].map((name) => [
        `svc-${name}`,
        { service_account: email('svc-scheduler'), audience: 'https://svc.example.com' },
      ]),
    ),
    secrets: {
      'svc-api-keys': {
        role: 'roles/secretmanager.secretAccessor',
        service_accounts: publicFunctions.map((name) => email(`svc-${name}`)),
      },
    },
    buckets: {
      [`${projectId}-artifacts`]: { role: 'roles/storage.objectUser', service_accounts: senders },
    },
    service_accounts: {
      ...Object.fromEntries(accounts),
      [email('svc-tasks')]: { roles: [], users: senders },
      [email('svc-scheduler')]: { roles: [], users: [] },
    },
  };
}

export function exampleDeployment(projectId: string): Deployment {
  return readDeployment(JSON.stringify(exampleOutput(projectId)), 'deployment.json');
}
