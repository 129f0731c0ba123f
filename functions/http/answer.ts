import type { OperationEntry } from '../../contracts/operation.ts';
import type { Validator } from '../../contracts/validator.ts';
import { parseJson } from '../kernel/json-text.ts';
import { JsonText } from '../kernel/json-value-text.ts';
import { isSent, type Selection, StoredBytes, writeBytes } from './byte-answer.ts';
import { type FaultyItem, faultyItems } from './faulty-items.ts';
import { fixedBytesOf } from './fixed-document.ts';
import { ByteStream, heldBlocks, RawBody, type RawResponse, sliceBytes } from './message.ts';

/** The result of a handler. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Fields that the contract names for this answer, such as `Location`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that breaks the contract: a fault of the service. Only the log names it. */
export class ContractViolationError extends Error {
  constructor(operation: string, rule: string) {
    super(`the answer of ${operation} breaks its contract: ${rule}`);
    this.name = 'ContractViolationError';
  }
}

/** Takes the faulty items of a list, which is then answered with them. Without this function such a list is a fault of the service as a whole. */
export type LeaveIn = (items: readonly FaultyItem[]) => void;

/** Writes an answer. A `validator` checks it against its model first, in the form that goes over the wire. */
export function writeAnswer(
  entry: OperationEntry,
  answer: Answer,
  validator?: Validator | null,
  selection?: Selection,
  leaveIn?: LeaveIn,
): RawResponse {
  const declared = entry.responses.find((response) => response.status === answer.status);
  const headers = Object.entries(answer.headers ?? {});
  // The contract promises every field that a client may see.
  if (headers.some(([name]) => declared?.headers.some((each) => isField(each, name)) !== true))
    throw new ContractViolationError(entry.id, 'headers');
  if (answer.body instanceof RawBody) return writeRaw(answer.status, answer.body, headers, selection);
  if (!declared) throw new ContractViolationError(entry.id, 'status');
  if (answer.body instanceof StoredBytes) {
    const written = writeBytes(answer.body, selection);
    const beside =
      written.status === 304 ? [] : headers.filter(([name]) => name !== 'ETag' && name !== 'Last-Modified');
    return { ...written, headers: [...beside, ...written.headers] };
  }
  if (isByteIterable(answer.body)) {
    if (declared.mediaType === null || declared.schema !== null)
      throw new ContractViolationError(entry.id, 'body');
    const chunks = answer.body;
    const body = new ByteStream(
      null,
      () => chunks,
      () =>
        void chunks[Symbol.asyncIterator]()
          .return?.()
          .catch(() => {}),
    );
    return {
      status: answer.status,
      headers: [['Content-Type', declared.mediaType], ...headers],
      body,
      close: false,
    };
  }
  if (declared.mediaType === null) return { status: answer.status, headers, body: null, close: false };
  const etag = answer.headers?.['ETag'] ?? null;
  if (selection !== undefined && !isSent(etag, selection))
    return { status: 304, headers: [['ETag', etag ?? '']], body: null, close: false };
  const write = (value: unknown): string => jsonText(entry, value, validator, leaveIn);
  const fixed = fixedBytesOf(answer.body, write);
  if (fixed) {
    const raw = new RawBody(declared.mediaType, fixed.content, fixed.etag);
    return writeRaw(answer.status, raw, [['Cache-Control', 'no-cache'], ...headers], selection);
  }
  const body = write(answer.body);
  return {
    status: answer.status,
    headers: [['Content-Type', declared.mediaType], ...headers],
    // As bytes: the text of a large answer would be kept beside its bytes until the client has read them.
    body: body.length > sliceBytes ? Buffer.from(body) : body,
    close: false,
  };
}

/** A declared name that ends with a hyphen allows all fields whose names start with it. */
function isField(declared: string, name: string): boolean {
  return declared === name || (declared.endsWith('-') && name.startsWith(declared));
}

function writeRaw(
  status: number,
  { mediaType, content, etag }: RawBody,
  headers: readonly (readonly [string, string])[],
  selection: Selection | undefined,
): RawResponse {
  const tag = etag === null ? [] : [['ETag', etag] as const];
  // The contract gives these documents no `If-Match`.
  if (selection !== undefined && !isSent(etag, { ...selection, ifMatch: null }))
    return { status: 304, headers: [...tag, ...headers], body: null, close: false };
  const fields = [['Content-Type', mediaType] as const, ...tag, ...headers];
  const body = typeof content === 'string' || content instanceof Uint8Array ? content : heldBlocks(content);
  return { status, headers: fields, body, close: false, shared: etag !== null };
}

/** The JSON text of an answer. */
function jsonText(
  entry: OperationEntry,
  value: unknown,
  validator: Validator | null | undefined,
  leaveIn: LeaveIn | undefined,
): string {
  const body = value instanceof JsonText ? value.text : JSON.stringify(value);
  if (body === undefined) throw new ContractViolationError(entry.id, 'body');
  // Parsed again, because `undefined` and Date have another form on the wire than in the object.
  if (!validator) return body;
  const parsed = parseJson(body);
  if (validator(parsed)) return body;
  // The place in the answer could name a member that a caller chose; the place in the schema cannot.
  const rule = validator.errors?.[0]?.schemaPath ?? 'schema';
  const items = leaveIn === undefined ? null : faultyItems(parsed, validator);
  if (items === null) throw new ContractViolationError(entry.id, rule);
  leaveIn?.(items);
  return body;
}

export function isByteIterable(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}
