import { serviceCollections } from '../../../functions/compose/collections.ts';
import { firestoreIndexes } from '../../../functions/store/firestore/indexes.ts';
import { type Check, failed, ok } from '../check.ts';
import { type Cloud, gapChecks } from './cloud.ts';
import { jobChecks, queueChecks } from './delivery.ts';
import type { Deployment } from './deployment.ts';
import { databaseChecks, indexChecks, type WantedIndexes } from './firestore.ts';
import { accountChecks, functionChecks, invokerChecks } from './functions.ts';
import { type GoogleApis, GoogleError } from './google.ts';
import { billingChecks, permissionChecks, projectChecks, serviceChecks } from './project.ts';
import { bucketChecks, secretChecks } from './resources.ts';

export interface CloudTarget {
  readonly projectId: string;
  /** `null` before the first deployment: then only project, rights and APIs are looked at. */
  readonly deployment: Deployment | null;
  /** Default: the indexes that this release needs. */
  readonly indexes?: WantedIndexes;
}

/** All checks of a project in Google Cloud. They read, and change nothing. */
export async function cloudChecks(apis: GoogleApis, target: CloudTarget): Promise<Check[]> {
  const cloud: Cloud = { apis, projectId: target.projectId, gaps: [] };
  try {
    // One call first: where the credential or the network is at fault, it says so once.
    const project = await projectChecks(cloud);
    const found = [ok('cloud-credentials', 'Google accepts the credentials of this machine.'), ...project];
    if (project.some(({ status }) => status === 'failed')) return found;
    const parts = await Promise.all([...projectParts(cloud, target), ...deployedParts(cloud, target)]);
    return [...found, ...parts.flat(), ...gapChecks(cloud)];
  } catch (error) {
    if (!(error instanceof GoogleError)) throw error;
    return [endOf(error)];
  }
}

function projectParts(cloud: Cloud, { deployment }: CloudTarget): Promise<Check[]>[] {
  const deploying = deployment === null;
  return [permissionChecks(cloud, deploying), serviceChecks(cloud, deploying), billingChecks(cloud)];
}

function deployedParts(cloud: Cloud, { deployment, indexes }: CloudTarget): Promise<Check[]>[] {
  if (deployment === null) return [];
  return [
    databaseChecks(cloud, deployment),
    indexChecks(cloud, deployment, indexes ?? firestoreIndexes(serviceCollections)),
    queueChecks(cloud, deployment),
    jobChecks(cloud, deployment),
    secretChecks(cloud, deployment),
    bucketChecks(cloud, deployment),
    functionChecks(cloud, deployment),
    invokerChecks(cloud, deployment),
    accountChecks(cloud, deployment),
  ];
}

function endOf({ failure, message }: GoogleError): Check {
  if (failure === 'unauthenticated') {
    return failed(
      'cloud-credentials',
      `Google does not accept the credentials: ${message}`,
      'gcloud auth application-default login',
    );
  }
  if (failure === 'unreachable') {
    const remedy = 'Check network, proxy and firewall of this machine; trying again can help.';
    return failed('cloud-network', `${message}.`.replace(/\.+$/, '.'), remedy);
  }
  return failed('cloud-project', message, 'svc doctor --cloud --verbose shows the calls.');
}
