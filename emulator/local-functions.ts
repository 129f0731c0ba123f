import { operations } from '../contracts/generated/operations.ts';
import publicRoutes from '../infra/routes.json' with { type: 'json' };
import { localAudience, localCallers, localIdentity, localIssuer } from './identity.ts';
import type { OidcIssuer } from './oidc-issuer.ts';
import { firstSegment, type Routes } from './router.ts';
import type { SchedulerJob } from './scheduler-job.ts';
import type { WireQueue } from './tasks/queue-settings.ts';

/** The functions of the local cloud and their connections. */

type Variables = Readonly<Record<string, string | undefined>>;

const groups: readonly string[] = [...new Set(Object.values(operations).map(({ group }) => group))];

/** The functions that no catalog operation names, and their purpose. */
const workerFunction = 'worker';
const scheduledFunctions: Readonly<Record<string, string>> = {
  reconcile: '* * * * *',
  prune: '0 3 * * *',
};

/** The functions that the settings need: an in-process queue delivers nothing over HTTP. */
export function functionsOf(variables: Variables): string[] {
  const served = groups.filter((group) => {
    if (recordGroups.has(group)) return servesRecords(variables);
    return group !== 'providers' || serves(variables, 'Provider');
  });
  const delivers = !/^local/i.test(settingOf(variables, 'ExecutionRuntime__Adapter') ?? '');
  return [
    ...served,
    ...(delivers ? [workerFunction] : []),
    ...Object.keys(scheduledFunctions),
    ...(/^true$/i.test(settingOf(variables, 'Mcp__Enabled') ?? '') ? ['mcp'] : []),
  ];
}

const recordGroups: ReadonlySet<string> = new Set([
  'collections',
  'records',
  'objects',
  'artifacts',
  'embeddings',
  'graph',
  'rag',
  'retrieval',
  'traces',
]);

/** The functions of records do not start if the settings switch records off. */
function servesRecords(variables: Variables): boolean {
  return !/^false$/i.test(settingOf(variables, 'Records__Enabled') ?? '') && serves(variables, 'Record');
}

/** A part whose jobs need the runtime, and that policies of another part must not leave open. */
function serves(variables: Variables, part: 'Record' | 'Provider'): boolean {
  if (/^false$/i.test(settingOf(variables, 'ExecutionRuntime__Enabled') ?? '')) return false;
  return (
    namesPolicies(variables, `${part}Access`) ||
    !namesPolicies(variables, '(Canonical|Execution|Record|Provider)Access')
  );
}

function namesPolicies(variables: Variables, section: string): boolean {
  const key = new RegExp(`^Server__${section}__IdentityPolicies__`, 'i');
  return Object.keys(variables).some((name) => key.test(name));
}

/** The path at the worker to which the queue delivers. */
function workerPath(variables: Variables): string {
  return settingOf(variables, 'HostedWorker__CallbackPath') || '/tasks/execution';
}

/** Reads a setting in any spelling of its name. */
function settingOf(variables: Variables, name: string): string | undefined {
  const lower = name.toLowerCase();
  return Object.entries(variables).find(([each]) => each.toLowerCase() === lower)?.[1];
}

/** How long a function gets to finish its requests, as on the platform unless the settings say otherwise. */
export function drainMsOf(variables: Variables): number {
  const seconds = settingOf(variables, 'Server__DrainSeconds') ?? '';
  return /^\d{1,3}$/.test(seconds) ? Number(seconds) * 1_000 : 8_000;
}

/** Maps the first path segment to a function: segments come from the catalog and from the queue. */
export function routesTo(ports: ReadonlyMap<string, number>, variables: Variables): Routes {
  const groupsOf = new Map<string, Set<string>>();
  for (const { group, path } of publicRoutes.rules) {
    const first = firstSegment(path);
    groupsOf.set(first, (groupsOf.get(first) ?? new Set()).add(group));
  }
  const bySegment = new Map<string, number>();
  const add = (segment: string, name: string | undefined): void => {
    const port = name === undefined ? undefined : ports.get(name);
    if (port !== undefined) bySegment.set(segment, port);
  };
  for (const [segment, names] of groupsOf) if (names.size === 1) add(segment, [...names][0]);
  add(firstSegment(workerPath(variables)), workerFunction);
  const rules = publicRoutes.rules.flatMap(({ group, path }) => {
    const port = ports.get(group);
    const isShared = (groupsOf.get(firstSegment(path))?.size ?? 0) > 1;
    return port === undefined || !isShared ? [] : [{ path, port }];
  });
  return { bySegment, rules, otherwise: ports.get('server') ?? 0 };
}

/** The scheduler sends to the functions directly: the router does not expose them. */
export function jobsFor(ports: ReadonlyMap<string, number>): SchedulerJob[] {
  return Object.entries(scheduledFunctions).flatMap(([name, schedule]) => {
    const port = ports.get(name);
    const oidc = { serviceAccountEmail: localCallers.scheduler, audience: localAudience };
    return port === undefined ? [] : [{ name, schedule, target: `http://127.0.0.1:${port}/`, oidc }];
  });
}

const google = 'ExecutionRuntime__Google__';

/** The run queue from the settings: a delivery is repeated until the worker accepts it. */
export function queueOf(variables: Variables): WireQueue {
  const [project, location, queue] = ['ProjectId', 'LocationId', 'QueueId'].map((name) =>
    settingOf(variables, `${google}${name}`),
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

/** The settings that are known before the functions start. Settings of the user win. */
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
    // External workers poll for their runs, so that naming their handlers is enough.
    [`${google}RequireExplicitWorkerRoutes`]: 'false',
    HostedWorker__TaskAuthentication__AllowedAudiences__0: worker,
    HostedWorker__TaskAuthentication__AllowedPrincipals__0: localCallers.tasks,
    ...localIssuer(issuer, given),
    ...(oidc && localIdentity(given)),
  };
  const missing = Object.entries(defaults).filter(([name]) => settingOf(given, name) === undefined);
  return { ...Object.fromEntries(missing), ...given };
}

/** The addresses of the emulators. They override user settings, so that a function never reaches a real service. */
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
