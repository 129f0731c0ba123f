import { machine } from '../../../functions/compose/machine.ts';
import { exampleDeployment, location } from '../../../test/support/google-cloud/deployment.ts';
import { type CloudProject, deployInto, emptyProject } from '../../../test/support/google-cloud/project.ts';
import { GoogleCloudServer } from '../../../test/support/google-cloud/server.ts';
import type { Check } from '../check.ts';
import { type CloudTarget, cloudChecks } from './checks.ts';
import { credentialsOf } from './credentials.ts';
import type { WantedIndexes } from './firestore.ts';
import { GoogleApis } from './google.ts';

/** The preflight on a whole deployment in a stand-in for Google's APIs, after a change to it. */

export const projectId = 'my-project';
export const deployment = exampleDeployment(projectId);
const wanted: WantedIndexes = {
  indexes: [
    {
      collectionGroup: 'runs',
      queryScope: 'COLLECTION',
      fields: [
        { fieldPath: 'status', order: 'ASCENDING' },
        { fieldPath: 'due', order: 'DESCENDING' },
      ],
    },
    {
      collectionGroup: 'records',
      queryScope: 'COLLECTION',
      fields: [
        { fieldPath: 'searchGroup', order: 'ASCENDING' },
        { fieldPath: '__name__', order: 'ASCENDING' },
        { fieldPath: 'v384a', vectorConfig: { dimension: 384 } },
      ],
    },
  ],
  fieldOverrides: [
    { collectionGroup: 'runs', fieldPath: '*', indexes: [] },
    {
      collectionGroup: 'runs',
      fieldPath: 'due',
      indexes: [{ order: 'ASCENDING', queryScope: 'COLLECTION' }],
    },
    { collectionGroup: 'notices', fieldPath: 'expires', ttl: true, indexes: [] },
  ],
};

export interface Asking extends Partial<CloudTarget> {
  readonly token?: string;
  readonly pageSizeMax?: number;
  readonly failing?: readonly string[];
}

export interface Found {
  readonly checks: readonly Check[];
  /** All that is not well. */
  readonly faults: readonly Check[];
  /** Method and address of each call. */
  readonly calls: readonly string[];
}

/** The findings about a whole deployment, after `change`. */
export async function found(change: (project: CloudProject) => unknown, asking: Asking = {}): Promise<Found> {
  const { token, pageSizeMax = 300, failing = [], ...target } = asking;
  const project = emptyProject(projectId);
  deployInto(project, deployment, target.indexes ?? wanted);
  change(project);
  await using server = await GoogleCloudServer.start(project);
  server.pageSizeMax = pageSizeMax;
  for (const host of failing) server.failing.add(host);
  const apis = apisAt(server.endpoint, token ?? server.token);
  const checks = await cloudChecks(apis, { projectId, deployment, indexes: wanted, ...target });
  return { checks, faults: checks.filter(({ status }) => status !== 'ok'), calls: server.calls };
}

/** Nothing is changed. */
export const whole = (): void => undefined;

export function apisAt(endpoint: string, accessToken: string): GoogleApis {
  const { http } = machine;
  return new GoogleApis({
    endpoint: new URL(endpoint),
    http,
    timeoutMs: 10_000,
    credentials: credentialsOf({ projectId, accessToken, http }),
    log: () => undefined,
  });
}

export const inPlace = `projects/${projectId}/locations/${location}`;
export const database = `projects/${projectId}/databases/(default)`;
export const email = (name: string) => `${name}@${projectId}.iam.gserviceaccount.com`;
