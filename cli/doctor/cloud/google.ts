import { isLoopbackHost } from '../../../functions/http/loopback-host.ts';
import { gatherBytes } from '../../../functions/kernel/byte-blocks.ts';
import type { OutgoingHttp } from '../../../functions/kernel/world.ts';
import { exitCodes, ToolError } from '../../output.ts';

/** Calls of Google's REST APIs: the shapes of their errors and of their pages, and nothing about a resource. */

export type Failure = 'denied' | 'api-off' | 'unauthenticated' | 'unreachable' | 'other';

/** A call that gave no resource. The message is for people and holds no token. */
export class GoogleError extends Error {
  readonly failure: Failure;
  /** The API that is switched off, such as `cloudtasks.googleapis.com`. */
  readonly api: string | null;

  constructor(failure: Failure, message: string, api: string | null = null) {
    super(message);
    this.name = 'GoogleError';
    this.failure = failure;
    this.api = api;
  }
}

export interface GoogleOptions {
  /** An address that answers for all of Google's APIs; `null` for Google itself. */
  readonly endpoint: URL | null;
  readonly http: OutgoingHttp;
  readonly timeoutMs: number;
  /** The headers that prove who asks. */
  readonly credentials: () => Promise<Headers>;
  /** Receives a line for each call. */
  readonly log: (line: string) => void;
}

const answerBytesMax = 16 * 1024 ** 2;
const pagesMax = 100;

/** `endpoint` of an operator. It sees the token, so it is on this machine or speaks TLS. */
export function endpointOf(text: string | undefined): URL | null {
  if (text === undefined || text === '') return null;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname));
  if (url === undefined || !safe || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new ToolError(
      'The address of --google-apis (GOOGLE_APIS_ENDPOINT) is no https address, and none of this machine.',
      exitCodes.usage,
    );
  }
  return url;
}

export class GoogleApis {
  readonly #options: GoogleOptions;

  constructor(options: GoogleOptions) {
    this.#options = options;
  }

  /** The resource; `undefined` where there is none. `path` begins with the host of the API. */
  async get<T>(path: string): Promise<T | undefined> {
    return (await this.#call('GET', path, null)) as T | undefined;
  }

  async post<T>(path: string, body: object): Promise<T | undefined> {
    return (await this.#call('POST', path, body)) as T | undefined;
  }

  /** All items of a list with pages. */
  async list<T>(path: string, member: string): Promise<T[]> {
    const items: T[] = [];
    let token = '';
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const page = await this.get<Record<string, unknown>>(token === '' ? path : withToken(path, token));
      items.push(...((page?.[member] ?? []) as T[]));
      token = (page?.['nextPageToken'] ?? '') as string;
      if (token === '') return items;
    }
    throw new GoogleError('other', `${hostOf(path)} gives a list without an end`);
  }

  async #call(method: 'GET' | 'POST', path: string, body: object | null): Promise<unknown> {
    const { endpoint, log } = this.#options;
    const base = endpoint === null ? 'https://' : `${endpoint.href.replace(/\/$/, '')}/`;
    const { status, text } = await this.#exchange(method, `${base}${path}`, body);
    log(`${method} ${path} ${status}`);
    const json = jsonIn(text);
    if (status === 404) return undefined;
    if (status < 200 || status > 299) throw refusal(path, status, json);
    if (json === undefined) throw new GoogleError('other', `${hostOf(path)} answers in no known form`);
    return json;
  }

  async #exchange(
    method: string,
    url: string,
    body: object | null,
  ): Promise<{ status: number; text: string }> {
    const { http, timeoutMs, credentials } = this.#options;
    const headers = new Headers(await credentials());
    if (body !== null) headers.set('content-type', 'application/json');
    try {
      const response = await http(url, {
        method,
        headers,
        body: body === null ? null : JSON.stringify(body),
        // A redirect would take the token elsewhere.
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.status, text: await readText(response) };
    } catch (error) {
      if (error instanceof GoogleError) throw error;
      throw new GoogleError('unreachable', `${new URL(url).host} does not answer (${networkReason(error)})`);
    }
  }
}

async function readText(response: Response): Promise<string> {
  const bytes = await gatherBytes(
    response.body ?? [],
    answerBytesMax,
    (fault) =>
      new GoogleError(
        'other',
        fault === 'bytes' ? 'an answer is too large' : 'an answer comes in too small pieces',
      ),
  );
  return bytes.toString();
}

function jsonIn(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface ErrorBody {
  readonly message?: string;
  readonly details?: readonly {
    readonly reason?: string;
    readonly metadata?: Readonly<Record<string, string>>;
  }[];
}

function refusal(path: string, status: number, json: Record<string, unknown> | undefined): GoogleError {
  const { message = `status ${status}`, details = [] } = (json?.['error'] ?? {}) as ErrorBody;
  const text = firstSentence(message);
  if (status === 401) return new GoogleError('unauthenticated', text);
  const off = details.find(({ reason }) => reason === 'SERVICE_DISABLED');
  if (off !== undefined) {
    return new GoogleError('api-off', text, off.metadata?.['service'] ?? hostOf(path));
  }
  if (status === 403) return new GoogleError('denied', text);
  const busy = status === 429 || status >= 500;
  return new GoogleError(busy ? 'unreachable' : 'other', `${hostOf(path)} answers ${status}: ${text}`);
}

function firstSentence(text: string): string {
  return (/^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text).trim().slice(0, 400);
}

/** The innermost cause that has a code. */
export function networkReason(error: unknown): string {
  const { cause, message, name, code } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError') return 'not within --timeout';
  return cause === undefined ? (code ?? message) : networkReason(cause);
}

function hostOf(path: string): string {
  return path.split('/', 1).join('');
}

function withToken(path: string, token: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}pageToken=${encodeURIComponent(token)}`;
}
