import { gatherBytes } from '../../kernel/byte-blocks.ts';
import type { OutgoingHttp, Timers } from '../../kernel/world.ts';

export interface KeyDocument {
  readonly text: string;
  /** How long the document may be used before the next fetch. */
  readonly freshMs: number;
}

export interface KeySource {
  readonly url: string;
  readonly http: OutgoingHttp;
  readonly timers: Timers;
}

/** Time from the request to the last byte of the answer. It is short, because calls of the service wait for it. */
const fetchTimeoutMs = 2000;
const documentBytesMax = 1024 * 1024;

const freshMsMin = 60_000;
const freshMsMax = 86_400_000;
const freshMsDefault = 3_600_000;

/** Fetches the document. Throws an Error unless the address itself answers 200 in time, with at most 1 MiB of UTF-8. */
export async function fetchKeyDocument({ url, http, timers }: KeySource): Promise<KeyDocument> {
  const controller = new AbortController();
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const cancel = timers.after(fetchTimeoutMs, () => reject(new Error('the key set did not come in time')));
  try {
    return await Promise.race([read(url, http, controller.signal), timedOut]);
  } finally {
    cancel();
    // Closes the connection if the answer was not read to its end.
    controller.abort();
  }
}

async function read(url: string, http: OutgoingHttp, signal: AbortSignal): Promise<KeyDocument> {
  // A redirect must not choose the source of the keys.
  const response = await http(url, { redirect: 'error', headers: { accept: 'application/json' }, signal });
  if (response.status !== 200 || response.redirected)
    throw new Error(`the key set was answered with the status ${response.status}`);
  return { text: await textOf(response), freshMs: freshMsOf(response.headers.get('cache-control')) };
}

async function textOf(response: Response): Promise<string> {
  const bytes = await gatherBytes(response.body ?? [], documentBytesMax, (fault) =>
    fault === 'bytes'
      ? new Error(`the key set is larger than ${documentBytesMax} bytes`)
      : new Error('the key set came in too many small pieces'),
  );
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/**
 * The `max-age` of a Cache-Control field (RFC 9111 section 5.2.2.1), between 60 s and 24 h; 1 h without `max-age`.
 * @testonly
 */
export function freshMsOf(cacheControl: string | null): number {
  const directives = (cacheControl ?? '').split(',').map((directive) => directive.trim().toLowerCase());
  if (directives.includes('no-store') || directives.includes('no-cache')) return freshMsMin;
  const age = directives.find((directive) => directive.startsWith('max-age='))?.slice('max-age='.length);
  if (age === undefined || !/^[0-9]{1,12}$/.test(age)) return freshMsDefault;
  return Math.min(Math.max(Number(age) * 1000, freshMsMin), freshMsMax);
}
