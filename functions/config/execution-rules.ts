import { isLoopback } from './loopback.ts';
import type { Rule } from './rule.ts';
import type { Host } from './setting.ts';
import { type Settings, table } from './table.ts';

/** The rules of the execution runtime between its settings. */

const limitPairs = [
  ['defaultListLimit', 'maxListLimit'],
  ['defaultHistoryLimit', 'maxHistoryLimit'],
] as const satisfies readonly (readonly [keyof Settings['execution'], keyof Settings['execution']])[];

/** A default limit gives way to a configured maximum. Two configured values that contradict each other are a mistake. */
const limitsInOrder: Rule = ({ execution }, _host, isGiven) =>
  limitPairs.flatMap(([standard, most]) => {
    const { key } = table.execution[standard];
    if (execution[standard] <= execution[most] || !isGiven(key)) return [];
    return [
      { key, message: `is more than ${table.execution[most].key} allows, which is ${execution[most]}` },
    ];
  });

/** External workers lease by these ids, so each entry needs a unique id. */
const externalHandlers: Rule = ({ execution }) => {
  const seen = new Set<string>();
  return execution.externalHandlers.flatMap(({ HandlerId }, index) => {
    const key = `${table.execution.externalHandlers.key}:${index}`;
    if (HandlerId === undefined) return [{ key, message: 'has no HandlerId' }];
    const repeated = seen.has(HandlerId);
    seen.add(HandlerId);
    return repeated ? [{ key, message: 'names a handler that is named already' }] : [];
  });
};

/** Two limits of one handler would contradict each other. */
const handlerLimits: Rule = ({ execution }) => {
  const seen = new Set<string>();
  return execution.handlers.flatMap(({ HandlerId }, index) => {
    const key = `${table.execution.handlers.key}:${index}`;
    if (HandlerId === undefined) return [{ key, message: 'has no HandlerId' }];
    const repeated = seen.has(HandlerId);
    seen.add(HandlerId);
    return repeated ? [{ key, message: 'names a handler that is named already' }] : [];
  });
};

/** Whether a lease call may add handlers: only where no caller of another machine, no other process and no queue depends on the list. */
export function acceptsHandlersOfWorkers(settings: Settings): boolean {
  return settings.execution.acceptHandlersOfWorkers && refusalOfAccepting(settings, 'embedded') === null;
}

function refusalOfAccepting({ service, server, execution }: Settings, host: Host): string | null {
  if (service.environment !== 'Development') return `the environment is ${service.environment}`;
  if (service.cloudService !== null) return 'the service runs in the cloud';
  if (host === 'functions') return 'the calls of a program go to several functions';
  if (!isLoopback(server.host)) return `the host ${server.host} is reachable from other machines`;
  if (server.allowRemoteDevelopment || server.trustedProxyHops > 0)
    return 'requests of other machines are let in';
  return execution.adapter === 'local' ? null : `${table.execution.adapter.key} is ${execution.adapter}`;
}

/** The specification lets workers lease the handlers of the settings only. Elsewhere than on a developer's machine that binds. */
const handlersOfWorkers: Rule = (settings, host, isGiven) => {
  const { key } = table.execution.acceptHandlersOfWorkers;
  const reason = refusalOfAccepting(settings, host);
  if (reason === null || !settings.execution.acceptHandlersOfWorkers || !isGiven(key)) return [];
  const remedy = `name the handlers in ${table.execution.externalHandlers.key}`;
  return [{ key, message: `is true, which Development on loopback alone allows, and ${reason}; ${remedy}` }];
};

const needed = ['locationId', 'queueId'] as const;

/** With the cloud queue every message needs a destination. A start of a handler without a route is refused at run time. */
const cloudQueue: Rule = ({ execution, cloudTasks, firestore }) => {
  if (execution.adapter !== 'google') return [];
  const why = `is missing: ${table.execution.adapter.key} is google`;
  const faults = needed
    .filter((name) => cloudTasks[name] === null)
    .map((name) => ({ key: table.cloudTasks[name].key, message: why }));
  if (cloudTasks.projectId === null && firestore.projectId === null)
    faults.push({ key: table.cloudTasks.projectId.key, message: why });
  return [...faults, ...routeFaults(cloudTasks, execution)];
};

function routeFaults(cloudTasks: Settings['cloudTasks'], execution: Settings['execution']) {
  const { key } = table.cloudTasks.workerRoutes;
  const routed = new Set<string>();
  const faults = cloudTasks.workerRoutes.flatMap(({ HandlerId, WorkerUrl }, index) => {
    const at = `${key}:${index}`;
    if (HandlerId === undefined) return [{ key: at, message: 'has no HandlerId' }];
    if ((WorkerUrl ?? cloudTasks.workerUrl) === null) {
      return [{ key: at, message: `has no WorkerUrl, and there is no ${table.cloudTasks.workerUrl.key}` }];
    }
    const repeated = routed.has(HandlerId);
    routed.add(HandlerId);
    return repeated ? [{ key: at, message: 'names a handler that is named already' }] : [];
  });
  if (!cloudTasks.requireExplicitWorkerRoutes) return faults;
  const missing = execution.externalHandlers.filter(
    ({ HandlerId }) => HandlerId !== undefined && !routed.has(HandlerId),
  );
  return [
    ...faults,
    ...missing.map(({ HandlerId }) => ({ key, message: `has no route for the handler ${HandlerId ?? ''}` })),
  ];
}

/** Outside Development deliveries must carry a verified identity that the worker allows. */
const deliveries: Rule = ({ execution, cloudTasks, hostedWorker, service, oidc }) => {
  if (execution.adapter !== 'google' || service.environment === 'Development') return [];
  const { allowedPrincipals, authenticatorType, authenticationMode } = hostedWorker;
  const { key } = table.cloudTasks.serviceAccountEmail;
  const faults =
    cloudTasks.serviceAccountEmail === null
      ? [{ key, message: `is missing: in the environment ${service.environment} deliveries carry a token` }]
      : [];
  if (allowedPrincipals.length === 0 && oidc.principalClaim !== 'email') {
    const message = `is empty: with ${table.oidc.principalClaim.key} ${oidc.principalClaim} an e-mail address names no principal`;
    faults.push({ key: table.hostedWorker.allowedPrincipals.key, message });
  }
  if (authenticatorType === null && authenticationMode !== 'google-oidc') {
    const message = `${authenticationMode} is refused outside Development`;
    faults.push({ key: table.hostedWorker.authenticationMode.key, message });
  }
  return faults;
};

export const executionRules: readonly Rule[] = [
  limitsInOrder,
  externalHandlers,
  handlerLimits,
  handlersOfWorkers,
  cloudQueue,
  deliveries,
];
