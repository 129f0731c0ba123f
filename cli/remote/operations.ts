import type { IncomingMessage } from 'node:http';
import { parseJson } from '../../functions/kernel/json-text.ts';
import { nextQuery } from '../../sdk/typescript/src/link.ts';
import { accessLines } from '../api/access.ts';
import { type ApiOperation, apiOperations } from '../api/catalog.ts';
import { requestOf } from '../api/request.ts';
import { exitCodes, ToolError, warn } from '../output.ts';
import type { Remote } from '../remote.ts';
import { type AnswerShape, checkAnswer } from './answer-shape.ts';
import { RemoteFailure } from './failure.ts';

/** A call of an operation by a command that reads its answer. */
export interface OperationCall {
  readonly id: string;
  readonly params: readonly string[];
  readonly body?: object;
  /** Replaces the query, for a later page of the same list. */
  readonly query?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The members of the body that the command reads; absent for an answer without a body. */
  readonly shape?: AnswerShape;
}

export interface OperationAnswer<T> {
  readonly data: T;
  /** The query of the next page; `null` if there is none. */
  readonly next: string | null;
}

/** Calls the operation; a refusal is a `ToolError`. */
export async function callOperation<T>(remote: Remote, call: OperationCall): Promise<OperationAnswer<T>> {
  try {
    return await called(remote, call);
  } catch (error) {
    // A request that the signal ended fails as a broken connection.
    call.signal?.throwIfAborted();
    throw error;
  }
}

async function called<T>(remote: Remote, call: OperationCall): Promise<OperationAnswer<T>> {
  const operation = apiOperations.find(({ id }) => id === call.id);
  if (operation === undefined) throw new Error(`the contract has no operation ${call.id}`);
  const head = requestOf(operation, { params: call.params });
  const path = call.query === undefined ? head.path : `${head.path.replace(/\?.*$/s, '')}?${call.query}`;
  const body = call.body === undefined ? null : Buffer.from(JSON.stringify(call.body));
  const type: [string, string][] = body === null ? [] : [['Content-Type', 'application/json']];
  const request = { ...head, path, headers: [...head.headers, ...type], body };
  const answer = await remote.send(request, call.signal).catch((error: unknown) => {
    if (error instanceof RemoteFailure && error.sent && operation.entry.mutation !== 'read')
      warn('It is unknown whether the service executed the operation: check before you repeat it.');
    throw error;
  });
  const isDone = operation.entry.responses.some(({ status }) => status === answer.statusCode);
  if (!isDone) {
    const forbidden = accessLines(operation, { params: call.params, body });
    const refusal = await remote.refusal(answer, undefined, forbidden);
    throw refusal.exitCode === exitCodes.ok ? unexpected(operation, refusal) : refusal;
  }
  const text = (await remote.bodyOf(answer)).toString('utf8');
  const data = parsed<T>(text);
  if (call.shape !== undefined) checkAnswer(operation.id, data, call.shape);
  return { data, next: nextOf(answer) };
}

/** A success that the operation never answers: another kind of server, or a proxy, has answered. */
function unexpected({ id, entry }: ApiOperation, { message }: ToolError): ToolError {
  const statuses = entry.responses.map(({ status }) => status).join(' or ');
  return new ToolError(
    `${id} answers ${statuses}: is the address that of a service of this kind? The answer was\n${message}`,
  );
}

function parsed<T>(text: string): T {
  try {
    return (text === '' ? null : parseJson(text)) as T;
  } catch {
    throw new ToolError('The answer is not JSON: does the address belong to this service?');
  }
}

function nextOf({ headers: { link } }: IncomingMessage): string | null {
  return link === undefined ? null : nextQuery(new Headers({ link: String(link) }));
}
