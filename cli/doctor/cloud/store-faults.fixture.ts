import { expect } from 'vitest';
import type { CloudProject } from '../../../test/support/google-cloud/project.ts';
import type { Check } from '../check.ts';
import { database, email, inPlace } from './stage.fixture.ts';

export type Fault = readonly [
  what: string,
  change: (project: CloudProject) => unknown,
  check: Partial<Check>,
];

/** Each fault of the deployment with the one check that reports it. */
export const storeFaults: readonly Fault[] = [
  [
    'an API that is off',
    ({ enabled }) => enabled.delete('monitoring.googleapis.com'),
    {
      id: 'cloud-apis',
      status: 'failed',
      message: '1 API of the project is off: monitoring.googleapis.com.',
      remedy: 'gcloud services enable monitoring.googleapis.com --project=my-project',
    },
  ],
  [
    'a project that cannot pay',
    (project) => {
      project.billingEnabled = false;
    },
    {
      id: 'cloud-billing',
      status: 'failed',
      remedy: 'gcloud billing projects link my-project --billing-account=ACCOUNT',
    },
  ],
  [
    'a database that is missing',
    ({ resources }) => resources.delete(database),
    {
      id: 'cloud-database',
      status: 'failed',
      remedy:
        "gcloud firestore databases create --database='(default)' --project=my-project --location=europe-west1 --type=firestore-native --delete-protection",
    },
  ],
  [
    'a database in Datastore mode',
    ({ resources }) => Object.assign(resources.get(database) ?? {}, { type: 'DATASTORE_MODE' }),
    { id: 'cloud-database', status: 'failed', message: expect.stringContaining('DATASTORE_MODE') as string },
  ],
  [
    'a database that can be deleted',
    ({ resources }) =>
      Object.assign(resources.get(database) ?? {}, { deleteProtectionState: 'DELETE_PROTECTION_DISABLED' }),
    {
      id: 'cloud-database',
      status: 'warning',
      remedy: expect.stringContaining('--delete-protection') as string,
    },
  ],
  [
    'a composite index that is missing',
    ({ indexes }) => indexes.splice(0, 1),
    {
      id: 'cloud-indexes',
      status: 'failed',
      message: 'The index of runs (status, due) is missing.',
      remedy:
        "gcloud firestore indexes composite create --collection-group=runs --query-scope=collection --field-config=field-path=status,order=ascending --field-config=field-path=due,order=descending --database='(default)' --project=my-project",
    },
  ],
  [
    'an index of vectors that is missing',
    ({ indexes }) => indexes.splice(1, 1),
    {
      id: 'cloud-indexes',
      status: 'failed',
      message: 'The index of records (searchGroup, v384a) is missing.',
      remedy:
        'gcloud firestore indexes composite create --collection-group=records --query-scope=collection --field-config=field-path=searchGroup,order=ascending --field-config=field-path=v384a,vector-config=\'{"dimension":"384","flat":"{}"}\' --database=\'(default)\' --project=my-project',
    },
  ],
  [
    'an index of vectors of another length',
    ({ indexes }) =>
      Object.assign(indexes[1] ?? {}, {
        fields: [
          { fieldPath: 'searchGroup', order: 'ASCENDING' },
          { fieldPath: 'v384a', vectorConfig: { dimension: 385, flat: {} } },
        ],
      }),
    {
      id: 'cloud-indexes',
      status: 'failed',
      message: 'The index of records (searchGroup, v384a) is missing.',
    },
  ],
  [
    'a composite index that is being built',
    ({ indexes }) => Object.assign(indexes[0] ?? {}, { state: 'CREATING' }),
    {
      id: 'cloud-indexes',
      status: 'failed',
      message: 'The index of runs (status, due) is still being built (CREATING).',
      remedy: "Wait: gcloud firestore operations list --database='(default)' --project=my-project",
    },
  ],
  [
    'an index of one field that is being built',
    ({ fields }) => {
      const { indexes = [] } = (fields[1]?.['indexConfig'] ?? {}) as { indexes?: { state: string }[] };
      for (const index of indexes) index.state = 'CREATING';
    },
    {
      id: 'cloud-indexes',
      status: 'failed',
      message: 'The index of runs.due is still being built (CREATING).',
    },
  ],
  [
    'an exemption that is missing',
    ({ fields }) => fields.splice(0, 1),
    {
      id: 'cloud-indexes',
      status: 'failed',
      remedy:
        "gcloud firestore indexes fields update '*' --collection-group=runs --disable-indexes --database='(default)' --project=my-project",
    },
  ],
  [
    'an index of one field that is missing',
    ({ fields }) => fields.splice(1, 1),
    {
      id: 'cloud-indexes',
      status: 'failed',
      message: 'runs.due has other indexes than its queries need.',
      remedy:
        "gcloud firestore indexes fields update due --collection-group=runs --index=order=ascending --database='(default)' --project=my-project",
    },
  ],
  [
    'an expiry that is not set',
    ({ fields }) => delete fields[2]?.['ttlConfig'],
    {
      id: 'cloud-ttl',
      status: 'failed',
      remedy:
        "gcloud firestore fields ttls update expires --collection-group=notices --enable-ttl --database='(default)' --project=my-project",
    },
  ],
  [
    'a queue that is missing',
    ({ resources }) => resources.delete(`${inPlace}/queues/svc-runs`),
    {
      id: 'cloud-queues',
      status: 'failed',
      remedy:
        'gcloud tasks queues create svc-runs --location=europe-west1 --project=my-project --max-attempts=-1 --min-backoff=1s --max-backoff=60s',
    },
  ],
  [
    'a queue that is paused',
    ({ resources }) => Object.assign(resources.get(`${inPlace}/queues/svc-runs`) ?? {}, { state: 'PAUSED' }),
    {
      id: 'cloud-queues',
      status: 'failed',
      remedy: 'gcloud tasks queues resume svc-runs --location=europe-west1 --project=my-project',
    },
  ],
  [
    'a queue that gives up',
    ({ resources }) =>
      Object.assign(resources.get(`${inPlace}/queues/svc-runs`) ?? {}, {
        retryConfig: { maxAttempts: 100, maxBackoff: '60s' },
      }),
    {
      id: 'cloud-queues',
      status: 'failed',
      remedy:
        'gcloud tasks queues update svc-runs --location=europe-west1 --project=my-project --max-attempts=-1',
    },
  ],
  [
    'a function that may not add tasks',
    ({ policies }) => policies.get(`${inPlace}/queues/svc-runs`)?.[0]?.members.shift(),
    {
      id: 'cloud-queues',
      status: 'failed',
      message: `${email('svc-execution')} may not add tasks to the queue svc-runs.`,
      remedy: expect.stringContaining('gcloud tasks queues add-iam-policy-binding svc-runs') as string,
    },
  ],
  [
    'a job that is paused',
    ({ resources }) => Object.assign(resources.get(`${inPlace}/jobs/svc-prune`) ?? {}, { state: 'PAUSED' }),
    {
      id: 'cloud-jobs',
      status: 'failed',
      remedy: 'gcloud scheduler jobs resume svc-prune --location=europe-west1 --project=my-project',
    },
  ],
  [
    'a job that is missing',
    ({ resources }) => resources.delete(`${inPlace}/jobs/svc-prune`),
    { id: 'cloud-jobs', status: 'failed', remedy: 'terraform apply' },
  ],
  [
    'a job without an identity',
    ({ resources }) => Object.assign(resources.get(`${inPlace}/jobs/svc-prune`) ?? {}, { httpTarget: {} }),
    {
      id: 'cloud-jobs',
      status: 'failed',
      remedy: `gcloud scheduler jobs update http svc-prune --location=europe-west1 --project=my-project --oidc-service-account-email=${email('svc-scheduler')} --oidc-token-audience=https://svc-prune-1.europe-west1.run.app`,
    },
  ],
  [
    'a job whose last attempt failed',
    ({ resources }) =>
      Object.assign(resources.get(`${inPlace}/jobs/svc-prune`) ?? {}, { status: { code: 7 } }),
    {
      id: 'cloud-jobs',
      status: 'warning',
      message: 'The last attempt of the job svc-prune failed (code 7).',
    },
  ],
];
