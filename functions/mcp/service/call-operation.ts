import type { OperationEntry } from '../../../contracts/operation.ts';
import { type Answer, isByteIterable } from '../../http/answer.ts';
import { fixedBytesOf } from '../../http/fixed-document.ts';
import type { CallOperation, InProcessInput } from '../../http/in-process.ts';
import type { RequestBooks } from '../../http/request-books.ts';
import { chargeRefusal } from '../../http/weighed.ts';
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

export interface CallAnswer {
  readonly answer: Answer;
  /** The caller as the operation knows it. */
  readonly known: Caller;
  /** The answer as JSON. A result is made of it without waiting for anything. */
  readonly text: string;
}

/** Calls the operation with the identity that the credential of this very request proves. */
export async function callAs(
  { call }: ServiceOperations,
  entry: OperationEntry,
  input: InProcessInput,
  { caller, capacity, correlationId, trace, signal, draining, matched }: McpContext,
): Promise<CallAnswer> {
  matched(entry.id);
  const known = await callerTo(caller, entry);
  if (known === null) throw new ServiceError('permission_denied', 'The caller may not do this.');
  await capacity?.permit(entry.rateClass);
  await capacity?.enterAs(entry);
  const books = capacity?.books;
  await books?.turnOf(entry.id);
  const answer = await call(entry.id, input, known, {
    correlationId,
    trace,
    signal,
    ...(draining === undefined ? {} : { draining }),
    ...books?.holdsOf(entry.id),
  }).catch((error: unknown) => {
    chargeRefusal(error, (permits) => capacity?.chargeTo(entry.rateClass, permits));
    throw error;
  });
  const turn = books?.turnOf(entry.id) ?? null;
  if (turn !== null) await turn;
  // At once, so that no other call has the same turn.
  return { answer, known, text: heldTextOf(answer, entry, books) };
}

/** The text is written for a result, which holds it about twice: as it is, and as values. */
function heldTextOf(answer: Answer, { id, mutation }: OperationEntry, books?: RequestBooks): string {
  const fixed = fixedTextOf(answer);
  const text = fixed ?? textOf(answer);
  // Only a read is refused for it: what a write did is done.
  if (fixed === null && mutation === 'read') books?.take(text.length);
  books?.spent(id, 2 * text.length);
  return text;
}

/** The text of a document that never changes; `null` for every other answer. */
function fixedTextOf({ body }: Answer): string | null {
  const fixed = fixedBytesOf(body, (document) => JSON.stringify(document));
  return fixed === null ? null : Buffer.from(fixed.content).toString();
}

/** The JSON text of an answer, in the spelling that REST sends. */
function textOf({ body }: Answer): string {
  if (body instanceof JsonText) return body.text;
  if (isByteIterable(body)) throw new Error('an operation with an answer of bytes is no tool');
  return JSON.stringify(body ?? null);
}
