import { expect } from 'vitest';
import { email, inPlace, projectId } from './stage.fixture.ts';
import type { Fault } from './store-faults.fixture.ts';

/** Faults in the needs of the functions and in the rights to call them. */
export const functionFaults: readonly Fault[] = [
  [
    'a secret that is missing',
    ({ resources }) => resources.delete(`projects/${projectId}/secrets/svc-api-keys`),
    {
      id: 'cloud-secrets',
      status: 'failed',
      remedy: 'gcloud secrets create svc-api-keys --project=my-project',
    },
  ],
  [
    'a secret without a version',
    ({ resources }) => resources.delete(`projects/${projectId}/secrets/svc-api-keys/versions/latest`),
    {
      id: 'cloud-secrets',
      status: 'failed',
      message: 'The secret svc-api-keys has no version: functions with it do not start.',
      remedy: 'gcloud secrets versions add svc-api-keys --data-file=- --project=my-project',
    },
  ],
  [
    'a secret whose version is switched off',
    ({ resources }) =>
      Object.assign(resources.get(`projects/${projectId}/secrets/svc-api-keys/versions/latest`) ?? {}, {
        state: 'DISABLED',
      }),
    { id: 'cloud-secrets', status: 'failed', message: expect.stringContaining('DISABLED') as string },
  ],
  [
    'a secret that a function may not read',
    ({ policies }) => policies.get(`projects/${projectId}/secrets/svc-api-keys`)?.[0]?.members.shift(),
    {
      id: 'cloud-secrets',
      status: 'failed',
      remedy: `gcloud secrets add-iam-policy-binding svc-api-keys --project=my-project --member=serviceAccount:${email('svc-server')} --role=roles/secretmanager.secretAccessor`,
    },
  ],
  [
    'a bucket that is missing',
    ({ resources }) => resources.delete(`b/${projectId}-svc-artifacts`),
    {
      id: 'cloud-buckets',
      status: 'failed',
      remedy: expect.stringContaining(
        'gcloud storage buckets create gs://my-project-svc-artifacts',
      ) as string,
    },
  ],
  [
    'a bucket whose objects could be public',
    ({ resources }) =>
      Object.assign(resources.get(`b/${projectId}-svc-artifacts`) ?? {}, { iamConfiguration: {} }),
    { id: 'cloud-buckets', status: 'warning' },
  ],
  [
    'a function that is missing',
    ({ resources, policies }) => {
      resources.delete(`${inPlace}/functions/svc-worker`);
      policies.delete(`${inPlace}/services/svc-worker`);
    },
    { id: 'cloud-functions', status: 'failed', message: 'There is no function svc-worker (worker).' },
  ],
  [
    'a function that did not start',
    ({ resources }) =>
      Object.assign(resources.get(`${inPlace}/functions/svc-worker`) ?? {}, {
        state: 'FAILED',
        stateMessages: [{ severity: 'ERROR', message: 'Container failed to become healthy.' }],
      }),
    {
      id: 'cloud-functions',
      status: 'failed',
      message: 'The function svc-worker is FAILED. Container failed to become healthy.',
    },
  ],
  [
    'a function with the account of the whole project',
    ({ resources }) =>
      Object.assign(resources.get(`${inPlace}/functions/svc-worker`) ?? {}, {
        serviceConfig: { serviceAccountEmail: '1-compute@developer.gserviceaccount.com' },
      }),
    {
      id: 'cloud-functions',
      status: 'failed',
      message: `The function svc-worker acts as 1-compute@developer.gserviceaccount.com, not as ${email('svc-worker')}.`,
    },
  ],
  [
    'a worker that the queue may not call',
    ({ policies }) => policies.get(`${inPlace}/services/svc-worker`)?.splice(0),
    {
      id: 'cloud-invokers',
      status: 'failed',
      remedy: `gcloud run services add-iam-policy-binding svc-worker --member=serviceAccount:${email('svc-tasks-runs')} --role=roles/run.invoker --region=europe-west1 --project=my-project`,
    },
  ],
  [
    'a worker that everybody may call',
    ({ policies }) => policies.get(`${inPlace}/services/svc-worker`)?.[0]?.members.push('allUsers'),
    {
      id: 'cloud-invokers',
      status: 'failed',
      message: 'allUsers may call svc-worker, and the deployment does not name it.',
      remedy:
        'gcloud run services remove-iam-policy-binding svc-worker --member=allUsers --role=roles/run.invoker --region=europe-west1 --project=my-project',
    },
  ],
  [
    'an account that is disabled',
    ({ resources }) =>
      Object.assign(resources.get(`projects/${projectId}/serviceAccounts/${email('svc-worker')}`) ?? {}, {
        disabled: true,
      }),
    {
      id: 'cloud-accounts',
      status: 'failed',
      remedy: `gcloud iam service-accounts enable ${email('svc-worker')} --project=my-project`,
    },
  ],
  [
    'an account without its role',
    ({ policies }) => policies.get(`projects/${projectId}`)?.[0]?.members.pop(),
    {
      id: 'cloud-accounts',
      status: 'failed',
      message: `${email('svc-server')} lacks roles/datastore.viewer.`,
      remedy: `gcloud projects add-iam-policy-binding my-project --member=serviceAccount:${email('svc-server')} --role=roles/datastore.viewer --condition=None`,
    },
  ],
  [
    'an account with a broad role',
    ({ policies }) =>
      policies
        .get(`projects/${projectId}`)
        ?.push({ role: 'roles/editor', members: [`serviceAccount:${email('svc-worker')}`] }),
    {
      id: 'cloud-accounts',
      status: 'warning',
      message: `${email('svc-worker')} has the broad role roles/editor.`,
    },
  ],
  [
    'a function that may not give tasks their identity',
    ({ policies }) =>
      policies.get(`projects/${projectId}/serviceAccounts/${email('svc-tasks-runs')}`)?.[0]?.members.shift(),
    {
      id: 'cloud-accounts',
      status: 'failed',
      remedy: expect.stringContaining('--role=roles/iam.serviceAccountUser') as string,
    },
  ],
];
