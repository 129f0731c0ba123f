import { limits } from '../../../contracts/generated/limits.ts';
import type {
  ExecutionExternalWorkerLease,
  ExecutionExternalWorkerNextLeaseRequest,
} from '../../../contracts/generated/models.ts';
import type { CallContext } from '../../http/handler.ts';
import { type Caller, placeOwnerOf } from '../../identity/caller.ts';
import { verifiedCaller } from '../../identity/verified-caller.ts';
import { invalidMember, ServiceError } from '../../kernel/errors.ts';
import { identifier } from '../../kernel/identifiers.ts';
import { describeFailure } from '../../kernel/log.ts';
import { leaseNext } from '../../runs/lease-next.ts';
import type { LeaseWish } from '../../runs/lease-run.ts';
import { distinctNames, optionalName } from '../../runs/text-checks.ts';
import type { ExecutionDependencies } from './dependencies.ts';
import { wireLease } from './wire.ts';

const TOKEN_BYTES = 32;

export function ttlOf(ttlSeconds: number | null | undefined): number {
  return Math.ceil((ttlSeconds ?? limits.executionLeaseSecondsDefault) * 1_000);
}

/** The distinct handlers of a request for a run. `pointer` is the place of the request in the body. */
export function wantedHandlers(handlerIds: readonly string[], pointer = ''): readonly string[] {
  const wanted = handlerIds.map((id, index) => identifier(id, `${pointer}/handlerIds/${index}`));
  if (new Set(wanted).size < wanted.length)
    throw invalidMember(`${pointer}/handlerIds`, 'must not name one twice');
  return wanted;
}

/** The version of the worker's handlers, as a request for a run names it; `null` if it names none. */
export function wantedVersion(handlerVersion: string | null | undefined, pointer = ''): string | null {
  return optionalName(handlerVersion, `${pointer}/handlerVersion`);
}

/** The distinct checkpoint keys of a request for a run; `null` if it requests none. */
export function wantedCheckpoints(
  keys: readonly string[] | null | undefined,
  pointer = '',
): readonly string[] | null {
  const place = `${pointer}/checkpointKeys`;
  if (keys === null || keys === undefined || keys.length === 0) return null;
  return distinctNames(keys, limits.executionLeaseCheckpointKeysMax, place);
}

interface AskedLease extends Pick<LeaseWish, 'workerId' | 'ttlMs'> {
  readonly handlerIds: readonly string[];
  readonly handlerVersion: string | null;
}

/** The request of a worker for a run. Refuses a caller that may not lease for the worker and these handlers. */
export function leaseWish(
  { runtime, access }: ExecutionDependencies,
  caller: Caller,
  { workerId, handlerIds, ttlMs, handlerVersion }: AskedLease,
): LeaseWish {
  access?.authorizeLease(verifiedCaller(caller), workerId, handlerIds);
  const token = Buffer.from(runtime.world.random.bytes(TOKEN_BYTES)).toString('hex');
  const mayLease: LeaseWish['mayLease'] = (run) =>
    access === null || access.mayLease(verifiedCaller(caller), workerId, run);
  return {
    kind: 'external',
    workerId,
    handlerIds: new Set(handlerIds),
    handlerVersion,
    ttlMs,
    token,
    mayLease,
  };
}

/** The handlers of a lease call that its worker cannot execute. Where the settings accept handlers of workers, unknown ones are added. */
export function namedHandlers(
  { runtime, access }: ExecutionDependencies,
  caller: Caller,
  { workerId, handlerIds }: Pick<LeaseWish, 'workerId' | 'handlerIds'>,
): readonly string[] {
  const { policies, workerHandlers } = runtime;
  const servedFor = (handlerId: string) =>
    access
      ?.servedTenants(verifiedCaller(caller), workerId, new Set([handlerId]))
      .filter(({ productId }) => policies.allowsHandler({ productId }, handlerId)) ?? null;
  return workerHandlers.named({
    handlerIds: [...handlerIds],
    caller: placeOwnerOf(caller).name,
    principal: caller.principal,
    servedFor,
    mayStart: (handlerId) => !policies.active || servedFor(handlerId)?.length !== 0,
  });
}

/** Half of the usual wait: the worker kits take a shorter one for a service without waits, and pause before the next call. */
const UNKNOWN_WAIT_MS_MAX = 10_000;

/**
 * How long a lease call waits for a run. A worker hears of an unknown handler by the answer alone, so such a call waits 10 seconds at
 * most. Each one: a server cannot know whether the same worker id is a process that has started anew and has heard nothing yet.
 */
export function waitMsOf(waitSeconds: number | null | undefined, unknown: readonly string[]): number {
  const waitMs = Math.ceil((waitSeconds ?? 0) * 1_000);
  return unknown.length === 0 ? waitMs : Math.min(waitMs, UNKNOWN_WAIT_MS_MAX);
}

/** Longest value of the field that names unknown handlers. */
const UNKNOWN_LENGTH_MAX = 2_000;

/** The field that names the unknown handlers of a lease call, percent-encoded; as many as fit. */
export function unknownHeaders(unknown: readonly string[]): {
  readonly headers?: { readonly 'Svc-Unknown-Handlers': string };
} {
  let names = '';
  for (const id of unknown) {
    const longer = `${names}${names === '' ? '' : ', '}${encodeURIComponent(id)}`;
    if (longer.length > UNKNOWN_LENGTH_MAX) break;
    names = longer;
  }
  return names === '' ? {} : { headers: { 'Svc-Unknown-Handlers': names } };
}

type Asked = ExecutionExternalWorkerNextLeaseRequest | null | undefined;

/** Leases the next run for a worker whose call has ended its lease. Returns members for the answer to that call. */
export type LeaseAfter = (
  workerId: string,
  context: CallContext,
) => Promise<{ readonly next?: ExecutionExternalWorkerLease }>;

/**
 * Checks the request for the next run before the call that carries it is executed. After that the call cannot fail: its result is
 * durable, and a worker without a next run makes a lease call, whose answer gives the reason.
 */
export function leaseAfter(dependencies: ExecutionDependencies, asked: Asked): LeaseAfter {
  if (asked === null || asked === undefined) return () => Promise.resolve({});
  const handlerIds = wantedHandlers(asked.handlerIds, '/leaseNext');
  const ttlMs = ttlOf(asked.ttlSeconds);
  const handlerVersion = wantedVersion(asked.handlerVersion, '/leaseNext');
  const checkpointKeys = wantedCheckpoints(asked.checkpointKeys, '/leaseNext');
  const { runtime } = dependencies;
  return async (workerId, { caller, signal, draining, crowded }) => {
    // Lease no run for a disconnected caller, on a stopping server, or if a lease call would be refused.
    if (signal.aborted || draining?.aborted === true || crowded?.() === true) return {};
    try {
      const wish = leaseWish(dependencies, caller, { workerId, handlerIds, ttlMs, handlerVersion });
      namedHandlers(dependencies, caller, wish);
      // If a queue of this process announces runs, take announced ones only: the next lease call searches the store.
      const run = await leaseNext(runtime, { ...wish, wait: null, isNotified: true, signal });
      if (run === null) return {};
      return { next: await wireLease(runtime, run, { token: wish.token, workerId, checkpointKeys }) };
    } catch (error) {
      if (!(error instanceof ServiceError))
        runtime.log({
          severity: 'WARNING',
          message: 'No next run was leased',
          failure: describeFailure(error),
        });
      return {};
    }
  };
}
