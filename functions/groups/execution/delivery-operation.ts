import type { OperationEntry, OperationRoute } from '../../../contracts/operation.ts';
import type { CallContext } from '../../http/handler.ts';
import { DELIVERY_CLASS } from '../../identity/authorizer.ts';
import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember, ServiceError } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import { DISPATCH_HEADER } from '../../queue/port.ts';
import type { Delivered } from '../../runs/engine.ts';

/** Operations of the hosted worker, which are not in the contract. */

/** Upper bound of a message. */
const MESSAGE_BYTES_MAX = 16_384;

/** Minimum delay before the queue delivers a refused message again. */
const BUSY_SECONDS = 1;

const common = {
  group: 'execution',
  stability: 'internal',
  accessOperation: null,
  idempotency: { requirement: 'not-applicable', location: null },
  requestSchema: null,
} as const;

/** The delivery of a queue message: `POST` to the path of its tasks. */
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

/** Executes deliveries. */
export interface HostedWorker {
  readonly workerId: string;
  readonly handlerIds: Iterable<string>;
  deliver(runId: string): Promise<Delivered>;
}

/**
 * Leases the run that the message names, and executes it. Success means that the queue may drop the message, also for an unknown run.
 * After a failure the queue delivers it again.
 */
export function receiveDelivery(worker: HostedWorker) {
  return async ({ body }: { readonly body: Json }, { header }: CallContext) => {
    if (header?.(DISPATCH_HEADER.toLowerCase()) !== '1') {
      throw new ServiceError('malformed_request', `The header ${DISPATCH_HEADER} must be 1.`);
    }
    const runId = runIdOf(body);
    const delivered = await worker.deliver(runId);
    if (delivered === 'busy' || delivered === 'left') throw notNow(delivered);
    return { status: 204 as const, body: null };
  };
}

function notNow(delivered: 'busy' | 'left'): ServiceError {
  const why =
    delivered === 'busy' ? 'The worker has no free slot for another run.' : 'The attempt was interrupted.';
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
