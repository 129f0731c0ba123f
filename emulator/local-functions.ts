import { operations } from '../contracts/generated/operations.ts';
import { localAudience, localCallers, localIdentity, localIssuer } from './identity.ts';
import type { OidcIssuer } from './oidc-issuer.ts';
import { firstSegment, type Routes } from './router.ts';
import type { SchedulerJob } from './scheduler-job.ts';
import type { WireQueue } from './tasks/queue-settings.ts';

/** The functions of the local cloud, and what connects them. */

type Variables = Readonly<Record<string, string | undefined>>;

const groups: readonly string[] = [...new Set(Object.values(operations).map(({ group }) => group))];

/** The functions that no operation names, and what each is for. */
const workerFunction = 'worker';
const scheduledFunctions: Readonly<Record<string, string>> = {
  reconcile: '* * * * *',
  prune: '0 3 * * *',
};

/** The functions that the variables let exist: nothing is delivered where the queue is in the process. */
export function functionsOf(variables: Variables): string[] {
  const delivers = !/^local/i.test(said(variables, 'ExecutionRuntime__Adapter') ?? '');
  return [...groups, ...(delivers ? [workerFunction] : []), ...Object.keys(scheduledFunctions)];
}

/** Where the queue sends what it has, at the worker. */
function workerPath(variables: Variables): string {
  return said(variables, 'HostedWorker__CallbackPath') || '/tasks/execution';
}

/** A setting has one name, however it is written. */
function said(variables: Variables, name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.entries(variables).find(([each]) => each.toLowerCase() === lower)?.[1];
}

/** Which function answers a path, by its first segment: from the catalog, and that of the queue. */
export function routesTo(ports: ReadonlyMap<string, number>, variables: Variables): Routes {
  const bySegment = new Map<string, number>();
  const add = (path: string, name: string): void => {
    const port = ports.get(name);
    if (port !== undefined) bySegment.set(firstSegment(path), port);
  };
  for (const { group, routes: paths } of Object.values(operations)) {
    for (const { segments } of paths) {
      const [first] = segments;
      if (first !== undefined && 'literal' in first) add(`/${first.literal}`, group);
    }
  }
  add(workerPath(variables), workerFunction);
  return { bySegment, otherwise: ports.get('server') ?? 0 };
}

/** Sent to the functions themselves: nobody reaches them from outside. */
export function jobsFor(ports: ReadonlyMap<string, number>): SchedulerJob[] {
  return Object.entries(scheduledFunctions).flatMap(([name, schedule]) => {
    const port = ports.get(name);
    const oidc = { serviceAccountEmail: localCallers.scheduler, audience: localAudience };
    return port === undefined ? [] : [{ name, schedule, target: `http://127.0.0.1:${port}/`, oidc }];
  });
}

const google = 'ExecutionRuntime__Google__';

/** The queue of runs that the variables name: a delivery is repeated until it is taken. */
export function queueOf(variables: Variables): WireQueue {
  const [project, location, queue] = ['ProjectId', 'LocationId', 'QueueId'].map((name) =>
    said(variables, `${google}${name}`),
  );
  return {
    name: `projects/${project}/locations/${location}/queues/${queue}`,
    retryConfig: { maxAttempts: -1, minBackoff: { seconds: 1 }, maxBackoff: { seconds: 60 } },
  };
}

export interface Parts {
  readonly routerUrl: string;
  readonly issuer: Pick<OidcIssuer, 'issuer' | 'keySetUrl'>;
  readonly firestoreHost: string;
  readonly tasksHost: string;
}

/** What is known before anything but the router and the issuer stands. What the user says wins. */
export function settingsFor(
  { routerUrl, issuer }: Pick<Parts, 'routerUrl' | 'issuer'>,
  { oidc, given }: { readonly oidc: boolean; readonly given: Variables },
): Variables {
  const worker = `${routerUrl}${workerPath(given)}`;
  const defaults: Variables = {
    SVC_ENVIRONMENT: 'Development',
    GOOGLE_CLOUD_PROJECT: 'demo-svc',
    Server__LogLevel: 'warning',
    ExecutionRuntime__Adapter: 'google',
    [`${google}ProjectId`]: given['GOOGLE_CLOUD_PROJECT'] ?? 'demo-svc',
    [`${google}LocationId`]: 'local',
    [`${google}QueueId`]: 'svc-runs',
    [`${google}WorkerUrl`]: worker,
    [`${google}ServiceAccountEmail`]: localCallers.tasks,
    [`${google}OidcAudience`]: worker,
    // Workers outside ask for their runs by themselves, so that naming their handlers is enough.
    [`${google}RequireExplicitWorkerRoutes`]: 'false',
    HostedWorker__TaskAuthentication__AllowedAudiences__0: worker,
    HostedWorker__TaskAuthentication__AllowedPrincipals__0: localCallers.tasks,
    ...localIssuer(issuer, given),
    ...(oidc && localIdentity(given)),
  };
  const unsaid = Object.entries(defaults).filter(([name]) => said(given, name) === undefined);
  return { ...Object.fromEntries(unsaid), ...given };
}

/** How a function finds the emulators; nothing that the user says may lead it elsewhere. */
export function emulatorVariables(parts: Pick<Parts, 'firestoreHost' | 'tasksHost'>): Variables {
  return {
    NODE_ENV: 'production',
    FIRESTORE_EMULATOR_HOST: parts.firestoreHost,
    CLOUD_TASKS_EMULATOR_HOST: parts.tasksHost,
    METADATA_SERVER_DETECTION: 'none',
    // The router is the one proxy in front.
    Server__TrustedProxyHops: '1',
  };
}
