import type { OperationEntry, OperationRoute } from '../../../contracts/operation.ts';
import type { CallContext } from '../../http/handler.ts';
import { DELIVERY_CLASS } from '../../identity/authorizer.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import type { Delivered } from '../../runs/engine.ts';

/** What the hosted worker answers; served like operations, but none of the contract. */

const DISPATCH_HEADER = 'x-svc-execution-dispatch';

/** More than a message ever has. */
const MESSAGE_BYTES_MAX = 16_384;

/** So long the queue waits at least before it delivers again what there was no room for. */
const BUSY_SECONDS = 1;

const common = {
  group: 'execution',
  stability: 'internal',
  accessOperation: null,
  idempotency: { requirement: 'not-applicable', location: null },
  requestSchema: null,
} as const;

/** A message of the queue: `POST` to the path that its tasks name. */
export function deliveryOperation(path: string): OperationEntry {
  return {
    ...common,
    id: 'receiveDelivery',
    authorizationClass: DELIVERY_CLASS,
    rateClass: null,
    mutation: 'write',
    completion: 'atomic',
    routes: [routeOf('receiveDelivery', 'POST', path)],
    requestMediaType: 'application/json',
    bodyLimitBytes: MESSAGE_BYTES_MAX,
    responses: [{ status: 204, mediaType: null, schema: null, headers: [] }],
    problems: ['unauthenticated', 'malformed_request', 'invalid_request', 'unavailable'],
  };
}

export const workerHealthOperation: OperationEntry = {
  ...common,
  id: 'getWorkerHealth',
  authorizationClass: 'anonymous',
  rateClass: null,
  mutation: 'read',
  completion: 'non-mutating',
  routes: [routeOf('getWorkerHealth', 'GET', '/health')],
  requestMediaType: null,
  bodyLimitBytes: null,
  responses: [{ status: 200, mediaType: 'application/json', schema: null, headers: [] }],
  problems: [],
};

export function routeOf(operationId: string, method: 'GET' | 'POST', path: string): OperationRoute {
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map((literal) => ({ literal }));
  return {
    operationId,
    method,
    segments,
    path: [],
    query: [],
    headers: [],
    bodyFromParameters: false,
    bodyMembers: [],
  };
}

/** Who executes what is delivered. */
export interface HostedWorker {
  readonly workerId: string;
  readonly handlerIds: Iterable<string>;
  deliver(runId: string): Promise<Delivered>;
}

/**
 * Does nothing in the message's name but to lease the run that it names: what is to be done, and whether, stands in the store.
 * Answered is whatever need not come again, also a run that nobody knows; what fails is answered as a failure, and comes again.
 */
export function receiveDelivery(worker: HostedWorker) {
  return async ({ body }: { readonly body: Json }, { header }: CallContext) => {
    if (header?.(DISPATCH_HEADER) !== '1') {
      throw new ServiceError('malformed_request', 'The header X-Svc-Execution-Dispatch must be 1.');
    }
    const runId = runIdOf(body);
    const delivered = await worker.deliver(runId);
    if (delivered === 'busy' || delivered === 'left') throw notNow(delivered);
    return { status: 204 as const, body: null };
  };
}

function notNow(delivered: 'busy' | 'left'): ServiceError {
  const why =
    delivered === 'busy' ? 'The worker executes as many runs as it may.' : 'The attempt was broken off.';
  return new ServiceError('unavailable', why, { retryAfterSeconds: BUSY_SECONDS });
}

function runIdOf(body: Json): string {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const runId = isObject ? (body as JsonObject).runId : undefined;
  if (typeof runId !== 'string') throw invalidMember('/runId', 'must be the id of a run');
  return identifier(runId, '/runId');
}

export function getWorkerHealth(worker: HostedWorker) {
  const body = { status: 'ok', workerId: worker.workerId, handlers: [...worker.handlerIds].sort() };
  return async () => ({ status: 200 as const, body });
}
