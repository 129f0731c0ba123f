import { ByteBlocks } from '../kernel/byte-blocks.ts';
import { ByteStream, type Chain, type RawResponse } from './message.ts';

/** Sends a request through the chain without a socket, for tests. */

export interface InjectedRequest {
  readonly method: string;
  /** The target as it would be sent: undecoded, with the query. */
  readonly path: string;
  /** A list of pairs where a name has to occur twice. */
  readonly headers?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  /** An object is sent as JSON, and a stream unchanged: its length is a header of the request. */
  readonly body?: unknown;
  readonly socketAddress?: string;
  readonly signal?: AbortSignal;
  readonly draining?: AbortSignal;
}

export interface InjectedResponse {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytes: Uint8Array;
  /** The body as JSON. */
  json<T = unknown>(): T;
}

export async function inject(chain: Chain, request: InjectedRequest): Promise<InjectedResponse> {
  const given = request.headers ?? {};
  const headers: (readonly [string, string])[] = Array.isArray(given) ? [...given] : Object.entries(given);
  const has = (name: string): boolean => headers.some(([field]) => field.toLowerCase() === name);
  const sent = isStream(request.body) ? new Uint8Array() : bytesOf(request.body);
  if (!has('host')) headers.push(['Host', 'localhost']);
  if (sent.length > 0 && !has('content-length') && !has('transfer-encoding')) {
    headers.push(['Content-Length', String(sent.length)]);
  }
  if (sent.length > 0 && !has('content-type')) headers.push(['Content-Type', 'application/json']);
  const response = await chain({
    method: request.method,
    target: request.path,
    httpVersion: '1.1',
    rawHeaders: headers.flat(),
    socketAddress: request.socketAddress ?? '127.0.0.1',
    body: isStream(request.body) ? request.body : once(sent),
    proceed: () => {},
    signal: request.signal ?? new AbortController().signal,
    ...(request.draining === undefined ? {} : { draining: request.draining }),
  });
  const bytes = request.method === 'HEAD' ? Buffer.alloc(0) : await bytesOfAnswer(response.body);
  response.settled?.();
  const body = bytes.toString();
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers.map(([name, value]) => [name.toLowerCase(), value])),
    body,
    bytes,
    json: <T>() => JSON.parse(body) as T,
  };
}

function isStream(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

function bytesOf(body: unknown): Uint8Array {
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

async function bytesOfAnswer(body: RawResponse['body']): Promise<Buffer> {
  if (body === null) return Buffer.alloc(0);
  if (!(body instanceof ByteStream)) return Buffer.from(body);
  const blocks = new ByteBlocks();
  for await (const chunk of body.open()) blocks.add(chunk);
  return blocks.whole();
}
