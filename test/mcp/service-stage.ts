import { type InjectedRequest, type InjectedResponse } from '../../functions/http/host-inject.ts';
import { type RunningService, type ServiceOptions, startService } from '../support/service.ts';
import { bodyOf, fieldsOf, type McpAnswer, META, messagesOf, TASKS, withCapabilities } from './support.ts';

/** The real service with its MCP endpoint, over a database of its own, and callers with policies. */

type Params = Readonly<Record<string, unknown>>;

export const IDENTITY = 'X-Svc-Development-Identity';

/** Every task of the contract. */
export const taskOperations = [
  'startExecutionRun',
  'startCollectionImportJob',
  'startRecordBatchUpsertJob',
  'startEmbeddingJob',
  'startProviderRunJob',
  'startRetrievalEvaluationComparisonJob',
  'startRetrievalEvaluationJob',
  'startRagIngestionTextJob',
  'startRagIngestionBatchJob',
  'startGraphImportJob',
  'startGraphInspectionJob',
  'startGraphDoctorJob',
];

/** `reader` may read in the space `acme`, `writer` may do all there, `neighbour` all in its own, `runner` reads runs alone. */
const policies: Readonly<Record<string, string>> = settingsOf('Server:RecordAccess', [
  { Principal: 'reader', Space: 'acme', AllowedOperations: ['read'] },
  { Principal: 'writer', Space: 'acme', ProductId: 'papers', AllowedOperations: ['read', 'write', 'delete'] },
  {
    Principal: 'neighbour',
    Space: 'other',
    ProductId: 'papers',
    AllowedOperations: ['read', 'write', 'delete'],
  },
]);

const runPolicies = settingsOf('Server:ExecutionAccess', [
  ...['writer', 'neighbour'].map((Principal) => ({
    Principal,
    ProductId: 'papers',
    AllowedOperations: ['start_run', 'read_run', 'cancel_run'],
  })),
  { Principal: 'runner', ProductId: 'papers', AllowedOperations: ['read_run'] },
]);

const providerPolicies = settingsOf('Server:ProviderAccess', [
  { Principal: 'writer', Space: 'acme', ProductId: 'papers', AllowedOperations: ['read', 'run'] },
]);

function settingsOf(section: string, grants: readonly Params[]): Readonly<Record<string, string>> {
  const entries = grants.flatMap((grant, at) =>
    Object.entries(grant).flatMap(([name, value]): [string, string][] => {
      const key = `${section}:IdentityPolicies:${at}:${name}`;
      return Array.isArray(value)
        ? value.map((item, index): [string, string] => [`${key}:${index}`, String(item)])
        : [[key, String(value)]];
    }),
  );
  return { [`${section}:AuthenticationMode`]: 'development-header', ...Object.fromEntries(entries) };
}

export interface McpService extends RunningService {
  /** Sends a message as the principal; without one there is no credential. */
  readonly ask: (principal: string | null, method: string, params?: Params) => Promise<McpAnswer>;
  readonly send: (request: Partial<InjectedRequest>) => Promise<InjectedResponse>;
}

export async function startMcpService(options: ServiceOptions = {}): Promise<McpService> {
  const enabled = taskOperations.map((id, at) => [`Mcp:EnabledOperations:${at}`, id] as const);
  const service = await startService({
    ...options,
    settings: {
      'Mcp:Enabled': 'true',
      'Mcp:RateLimit:PermitLimit': '1000000',
      'ExecutionRuntime:ProductPolicies:0:ProductId': 'papers',
      ...Object.fromEntries(enabled),
      ...policies,
      ...runPolicies,
      ...providerPolicies,
      ...options.settings,
    },
  });
  const send = (request: Partial<InjectedRequest>) =>
    service.call({ method: 'POST', path: '/mcp', ...request });
  return {
    ...service,
    send,
    async ask(principal, method, params = {}) {
      const sent = { _meta: withCapabilities(TASKS), ...params };
      const response = await send({
        body: bodyOf(method, sent),
        headers: {
          ...fieldsOf(method, sent),
          ...(principal === null ? {} : { [IDENTITY]: principal }),
        },
      });
      return { status: response.status, ...messagesOf(response).at(-1) };
    },
  };
}

export const withoutTasks = { _meta: META };

/** Calls a tool and answers its result. */
export async function callTool(
  service: McpService,
  principal: string,
  name: string,
  given: Params = {},
): Promise<Params> {
  const { result, error } = await service.ask(principal, 'tools/call', { name, arguments: given });
  if (result === undefined) throw new Error(`${name} was answered with ${JSON.stringify(error)}`);
  return result;
}

export async function namesOf(
  service: McpService,
  principal: string,
  method: 'tools/list' | 'resources/list' = 'tools/list',
): Promise<readonly string[]> {
  const { result } = await service.ask(principal, method);
  const items = (result?.['tools'] ?? result?.['resources'] ?? []) as readonly {
    name: string;
    uri?: string;
  }[];
  return items.map(({ name, uri }) => uri ?? name);
}

/** Polls the task until it has ended. Runs are executed by this process, so each poll gives them a turn. */
export async function endOf(service: McpService, principal: string, taskId: string): Promise<Params> {
  for (;;) {
    const { result } = await service.ask(principal, 'tasks/get', { taskId });
    if (result === undefined) throw new Error('the task is unknown');
    if (result['status'] !== 'working') return result;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Creates a collection and waits for the run that does it. */
export async function createCollection(
  service: McpService,
  principal: string,
  name: string,
  more: Params = {},
): Promise<void> {
  const headers = { [IDENTITY]: principal };
  const created = await service.call({
    method: 'POST',
    path: '/collections',
    headers,
    body: { name, ...more },
  });
  const path = created.headers['location'] ?? '';
  for (;;) {
    const run = (await service.call({ method: 'GET', path, headers })).json<{ status: string }>();
    if (run.status === 'succeeded') return;
    if (!['queued', 'running'].includes(run.status)) throw new Error(`the run is ${JSON.stringify(run)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A collection of the space `acme` with as many records. */
export async function withArticles(service: McpService, count = 3, text = 'Hello'): Promise<void> {
  const headers = { [IDENTITY]: 'writer' };
  await createCollection(service, 'writer', 'articles');
  for (let at = 0; at < count; at += 1) {
    const body = { id: `a-${at}`, partitionKey: 'p', type: 'article', metadata: { at }, content: { text } };
    const path = '/collections/articles/records';
    const { status } = await service.call({ method: 'POST', path, headers, body });
    if (status >= 300) throw new Error(`a record was answered with ${status}`);
  }
}
