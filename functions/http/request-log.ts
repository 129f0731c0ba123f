import type { Caller } from '../identity/caller.ts';
import type { permissionDenied } from '../identity/grants.ts';
import { ExpectedAbsence } from '../kernel/errors.ts';
import { describeFailure, type LogEvent, type TraceContext } from '../kernel/log.ts';
import { elapsedMs } from '../kernel/timestamp.ts';
import { describeStoreFailure } from '../store/describe-failure.ts';
import { ContractViolationError } from './answer.ts';
import type { RawResponse } from './message.ts';
import type { ChainOptions } from './options.ts';
import { addressOf, type RequestFacts } from './receive.ts';

export interface RequestFailure {
  readonly code: string;
  readonly unexpected: boolean;
  readonly error: unknown;
}

export interface AnsweredRequest {
  readonly exchange: RequestFacts;
  readonly arrivedAt: number;
  readonly correlationId: string;
  readonly trace: TraceContext | undefined;
  readonly caller: Caller | null;
}

/**
 * Writes one log line for each request: the outcome, the caller and the source address, and no value from the request but the
 * tenant for which a refused caller lacks a right.
 */
export function logRequest(
  options: Pick<ChainOptions, 'log' | 'world' | 'trustedProxyHops'>,
  { exchange, arrivedAt, correlationId, trace, caller }: AnsweredRequest,
  { status }: RawResponse,
  failure: RequestFailure | null,
): void {
  const { request, entry } = exchange;
  // A request that ends because its caller has gone is no fault.
  const gone = request.signal.aborted;
  const unexpected = failure?.unexpected === true && !gone;
  const reason = unexpected ? failureText(failure?.error) : describeStoreFailure(failure?.error);
  const principal = caller?.principal ?? null;
  const event: LogEvent = {
    severity: gone || failure?.error instanceof ExpectedAbsence ? 'INFO' : severityOf(status),
    message: gone ? 'the caller has gone' : unexpected ? 'a request failed' : 'a request was answered',
    // The caller chose the name of a method that no operation has.
    ...(entry ? { operation: entry.id, method: request.method } : {}),
    status,
    ...(failure ? { code: failure.code } : {}),
    durationMs: elapsedMs(arrivedAt, options.world.clock.now()),
    correlationId,
    trace,
    ...(principal === null ? {} : { principal }),
    // An unusual address shows that a token was stolen; one address with many refusals shows guessing.
    sourceAddress: addressOf(options, exchange),
    // The operator who grants rights needs the missing one here: the answer does not name it. Null members are omitted.
    ...((failure?.error as Partial<ReturnType<typeof permissionDenied>> | undefined)
      ?.missing as Partial<LogEvent>),
    ...(reason === undefined ? {} : { failure: reason }),
  };
  options.log(event);
}

function severityOf(status: number): LogEvent['severity'] {
  if (status >= 500) return 'ERROR';
  return status >= 400 ? 'WARNING' : 'INFO';
}

/** The broken rule of our own contract holds no value of a request, so the log takes it whole. */
function failureText(error: unknown): string {
  const described = describeFailure(error);
  return error instanceof ContractViolationError ? `${error.message}\n${described}` : described;
}
