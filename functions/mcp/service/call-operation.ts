import type { OperationEntry } from '../../../contracts/operation.ts';
import { type Answer, isByteIterable } from '../../http/answer.ts';
import type { CallOperation, InProcessInput } from '../../http/in-process.ts';
import type { Authorizer } from '../../identity/authorizer.ts';
import type { Caller } from '../../identity/caller.ts';
import { ServiceError } from '../../kernel/errors.ts';
import { JsonText } from '../../kernel/json-value-text.ts';
import type { Clock } from '../../kernel/world.ts';
import { callerTo, type McpCaller } from '../caller.ts';
import type { McpContext } from '../catalog.ts';

/** The operations behind the endpoint, called in process as the caller and by the rules of REST. */
export interface ServiceOperations {
  /** Those that this process serves. */
  readonly operations: Readonly<Record<string, OperationEntry>>;
  readonly call: CallOperation;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/** Whether the policies let the caller call the operation at all; the operation itself decides about its targets. */
export async function mayCall(
  { authorizer, clock }: ServiceOperations,
  entry: OperationEntry,
  caller: McpCaller,
): Promise<boolean> {
  const known = await callerTo(caller, entry);
  if (known === null) return false;
  try {
    authorizer.authorize(known, entry, { params: {}, now: clock.now() });
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** Calls the operation with the identity that the credential of this very request proves. */
export async function callAs(
  { call }: ServiceOperations,
  entry: OperationEntry,
  input: InProcessInput,
  { caller, capacity, correlationId, signal, draining }: McpContext,
): Promise<{ readonly answer: Answer; readonly known: Caller }> {
  const known = await callerTo(caller, entry);
  if (known === null) throw new ServiceError('permission_denied', 'The caller may not do this.');
  await capacity?.permit(entry.rateClass);
  const hold = capacity === undefined ? {} : { hold: capacity.hold, grow: capacity.hold };
  const answer = await call(entry.id, input, known, {
    correlationId,
    signal,
    ...(draining === undefined ? {} : { draining }),
    ...hold,
  });
  return { answer, known };
}

/** The JSON text of an answer, in the spelling that REST sends. */
export function textOf({ body }: Answer): string {
  if (body instanceof JsonText) return body.text;
  if (isByteIterable(body)) throw new Error('an operation with an answer of bytes is no tool');
  return JSON.stringify(body ?? null);
}
