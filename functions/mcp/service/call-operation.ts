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

/** The operations behind the endpoint. It calls them in process, for the caller and by the rules of REST. */
export interface ServiceOperations {
  /** The operations that this process serves. */
  readonly operations: Readonly<Record<string, OperationEntry>>;
  readonly call: CallOperation;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/** Whether the policies allow the caller to call the operation. The operation decides about its targets. */
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
  /** The caller that the operation's authentication proved. */
  readonly known: Caller;
  /** The answer as JSON. The endpoint makes the result from it in the same turn. */
  readonly text: string;
}

/** Calls the operation with the identity that the credential of this request proves. */
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
  // Write the text in this turn: the call has the turn for a large answer to itself.
  return { answer, known, text: heldTextOf(answer, entry, books) };
}

/** Writes the text and counts it again, because a result holds it about twice: as text and as values. */
function heldTextOf(answer: Answer, { id, mutation }: OperationEntry, books?: RequestBooks): string {
  const fixed = fixedTextOf(answer);
  const text = fixed ?? textOf(answer);
  // Refuse only a read for its size: a write is done already.
  if (fixed === null && mutation === 'read') books?.take(text.length);
  books?.spent(id, 2 * text.length);
  return text;
}

/** The text of an immutable document; `null` for every other answer. */
function fixedTextOf({ body }: Answer): string | null {
  const fixed = fixedBytesOf(body, (document) => JSON.stringify(document));
  return fixed === null ? null : Buffer.from(fixed.content).toString();
}

/** The JSON text of an answer, spelled as over REST. */
function textOf({ body }: Answer): string {
  if (body instanceof JsonText) return body.text;
  if (isByteIterable(body)) throw new Error('an operation with an answer of bytes is no tool');
  return JSON.stringify(body ?? null);
}
