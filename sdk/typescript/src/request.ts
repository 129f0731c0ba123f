import { SvcError } from './errors.ts';
import { bytesBody, multipart } from './multipart.ts';
import {
  type BinaryContent,
  type CallInput,
  methodOf,
  type OperationSpec,
  type ParameterSpec,
} from './operation.ts';
import type { HeaderValues, KeyedCallOptions } from './options.ts';
import { checkNames, jsonText, refused } from './request-faults.ts';

/** The request of a call, without credentials. */
export interface WireRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Headers;
  /** Makes the body for each attempt. */
  readonly body: () => string | Blob | ReadableStream<Uint8Array> | undefined;
  /** The errors of the caller's stream; absent if there is no stream, so that the client can send the body again. */
  readonly failures?: readonly unknown[];
  /** Whether the caller gave an idempotency key in the place of the operation. */
  readonly keyGiven: boolean;
  /** Headers that the caller removed, in lower case. The client must not add them again. */
  readonly takenAway: ReadonlySet<string>;
}

/** `boundary` separates the parts of a body; no part may contain it. */
export function wireRequest(
  operation: OperationSpec,
  input: CallInput,
  { headers: defaults, options }: { readonly headers: HeaderValues; readonly options: KeyedCallOptions },
  boundary: string,
): WireRequest {
  const parameters = (input.parameters ?? {}) as Readonly<Record<string, unknown>>;
  const specs = [...(operation.headers ?? []), ...(operation.query ?? [])];
  checkNames(
    operation,
    parameters,
    specs.map(({ key }) => key),
  );
  const { contentType, ...body } = bodyOf(operation, input.request, boundary);
  const headers = new Headers();
  const set = (name: string, value: string): void => {
    try {
      headers.set(name, value);
    } catch {
      // The platform's error quotes the value.
      throw refused(operation, name, 'cannot be sent as a header');
    }
  };
  if (contentType !== undefined) headers.set('Content-Type', contentType);
  for (const [name, value] of entries(operation.headers ?? [], parameters)) set(name, value);
  if (options.correlationId !== undefined) set('X-Correlation-ID', options.correlationId);
  if (options.idempotencyKey !== undefined) set(keyHeader(operation), options.idempotencyKey);
  const takenAway = new Set<string>();
  for (const [name, value] of [...Object.entries(defaults), ...Object.entries(options.headers ?? {})]) {
    if (value === undefined) continue;
    if (value !== null) set(name, value);
    else {
      headers.delete(name);
      takenAway.add(name.toLowerCase());
    }
  }
  const query = entries(operation.query ?? [], parameters).map(
    ([name, value]) => `${encode(operation, name, name)}=${encode(operation, name, value)}`,
  );
  return {
    method: operation.method,
    target: `${pathOf(operation, input.path ?? [])}${query.length === 0 ? '' : '?'}${query.join('&')}`,
    headers,
    ...body,
    keyGiven: isKeyGiven(operation, input.request, headers),
    takenAway,
  };
}

function pathOf(operation: OperationSpec, values: readonly (string | number | boolean)[]): string {
  let at = 0;
  return operation.path.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const value = values[at++];
    const text = value === undefined || value === null ? '' : String(value);
    // Such a segment changes the path, so the request would reach another resource.
    if (text === '' || text === '.' || text === '..')
      throw refused(operation, name, 'is empty or a dot segment');
    return encode(operation, name, text);
  });
}

/** Percent-encodes all but the unreserved characters (RFC 3986), as all SDKs do. */
function encode(operation: OperationSpec, name: string, text: string): string {
  if (!isWhole(text)) throw refused(operation, name, 'holds half a character');
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** As `isWellFormed`, which the oldest runtimes do not have. */
function isWhole(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function* given(specs: readonly ParameterSpec[], values: Readonly<Record<string, unknown>>) {
  for (const { name, key, prefix } of specs) {
    const value = values[key];
    if (prefix !== true) yield [name, value] as const;
    else for (const [last, entry] of Object.entries(value ?? {})) yield [`${name}${last}`, entry] as const;
  }
}

/** The caller's parameters in the order of the contract. */
function entries(
  specs: readonly ParameterSpec[],
  values: Readonly<Record<string, unknown>>,
): [string, string][] {
  return [...given(specs, values)]
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, String(value)]);
}

function bodyOf(
  operation: OperationSpec,
  request: unknown,
  boundary: string,
): Pick<WireRequest, 'body' | 'failures'> & { readonly contentType?: string } {
  const { body } = operation;
  if (body === undefined) return { body: () => undefined };
  if (request === undefined || request === null) throw refused(operation, 'the whole', 'is missing');
  if (body.kind === 'json') {
    const text = jsonText(operation, request);
    return { body: () => text, contentType: 'application/json' };
  }
  const encoded =
    body.kind === 'bytes'
      ? { contentType: body.mediaType, ...bytesBody(request as BinaryContent) }
      : multipart(operation, body.parts, request as Readonly<Record<string, unknown>>, boundary);
  return { ...encoded, body: () => encoded.body };
}

function keyHeader(operation: OperationSpec): string {
  const { id, key } = operation;
  if (key?.in === 'header') return key.name;
  const where = key === undefined ? 'takes no idempotency key' : `takes its key as the member ${key.member}`;
  throw new SvcError(`${methodOf(operation)} ${where}.`, { operation: id });
}

function isKeyGiven({ key }: OperationSpec, request: unknown, headers: Headers): boolean {
  if (key === undefined) return false;
  const member = key.member === undefined ? undefined : membersOf(request)?.[key.member];
  const values = [key.in === 'header' ? headers.get(key.name) : null, member];
  return values.some((value) => typeof value === 'string' && value.trim() !== '');
}

function membersOf(request: unknown): Readonly<Record<string, unknown>> | null | undefined {
  return request as Readonly<Record<string, unknown>> | null | undefined;
}
