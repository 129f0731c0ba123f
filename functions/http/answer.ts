import type { OperationEntry } from '../../contracts/operation.ts';
import type { Validator } from '../../contracts/validator.ts';
import { RawBody, type RawResponse } from './message.ts';

/** What a handler hands back. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Fields that the contract names for this answer, such as `Location`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that the contract does not know: a fault of ours, told to nobody but the log. */
export class ContractViolationError extends Error {
  constructor(operation: string, rule: string) {
    super(`the answer of ${operation} breaks its contract: ${rule}`);
    this.name = 'ContractViolationError';
  }
}

/** Writes an answer. With `validator` it is held against its model first, in the form that goes over the wire. */
export function writeAnswer(
  entry: OperationEntry,
  answer: Answer,
  validator: Validator | null | undefined,
): RawResponse {
  const declared = entry.responses.find((response) => response.status === answer.status);
  const headers = Object.entries(answer.headers ?? {});
  // A field that the contract does not name is one that no client was promised.
  if (headers.some(([name]) => !declared?.headers.includes(name)))
    throw new ContractViolationError(entry.id, 'headers');
  if (answer.body instanceof RawBody) {
    return {
      status: answer.status,
      headers: [['Content-Type', answer.body.mediaType], ...headers],
      body: answer.body.content,
      close: false,
    };
  }
  if (!declared) throw new ContractViolationError(entry.id, 'status');
  if (declared.mediaType === null) return { status: answer.status, headers, body: null, close: false };
  const body = JSON.stringify(answer.body);
  if (body === undefined) throw new ContractViolationError(entry.id, 'body');
  // Read back, because a member that is `undefined` or a Date is not in the object what it is on the wire.
  if (validator && !validator(JSON.parse(body))) {
    // The place in the answer could name a member that a caller chose; the place in the schema cannot.
    throw new ContractViolationError(entry.id, validator.errors?.[0]?.schemaPath ?? 'schema');
  }
  return {
    status: answer.status,
    headers: [['Content-Type', declared.mediaType], ...headers],
    body,
    close: false,
  };
}
