import type { IncomingMessage, ServerResponse } from 'node:http';
import { SvcError } from '../errors.ts';
import { GatheredBytes } from '../gathered.ts';
import { parseJson } from '../json-text.ts';
import { WorkerUnavailableError } from './errors.ts';
import type { SvcWorker } from './svc-worker.ts';

export interface DeliveryOptions {
  /**
   * Verifies the caller: only `true` admits a delivery. For Cloud Tasks verify the identity token of `Authorization`: its
   * signature, its audience, and that its e-mail is that of the queue's service account.
   */
  readonly verify: (request: IncomingMessage) => boolean | Promise<boolean>;
  /** The largest message in bytes; 16,384 if absent. */
  readonly bodyBytesMax?: number | undefined;
  /** `Retry-After` for the queue if the worker is full or stops; 10 if absent. */
  readonly retryAfterSeconds?: number | undefined;
}

export type DeliveryListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const DISPATCH_HEADER = 'x-svc-execution-dispatch';

/**
 * A listener of `node:http` for a queue that pushes runs, such as Cloud Tasks. A message causes at most one lease. It answers
 * 204 if the run was executed, is parked, or could not be leased; every other status makes the queue deliver again.
 */
export function deliveryListener(
  worker: Pick<SvcWorker, 'deliver'>,
  options: DeliveryOptions,
): DeliveryListener {
  const { verify, bodyBytesMax = 16_384, retryAfterSeconds = 10 } = options ?? {};
  if (typeof verify !== 'function')
    throw new SvcError(
      'deliveryListener needs verify: without it, any caller of the address can start runs.',
    );
  return async (request, response) => {
    const answer = await answerTo(request, worker, { verify, bodyBytesMax, retryAfterSeconds });
    const { status, headers = {}, text } = answer;
    // Close the connection: the rest of the request is unread.
    if (!request.complete) response.setHeader('connection', 'close');
    if (text === undefined) response.writeHead(status, headers).end();
    else
      response
        .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers })
        .end(`${text}\n`);
  };
}

interface Answer {
  readonly status: number;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function answerTo(
  request: IncomingMessage,
  worker: Pick<SvcWorker, 'deliver'>,
  { verify, bodyBytesMax, retryAfterSeconds }: Required<DeliveryOptions> & Limits,
): Promise<Answer> {
  if (request.method !== 'POST')
    return { status: 405, text: 'A delivery must be a POST request.', headers: { allow: 'POST' } };
  if (request.headers[DISPATCH_HEADER] !== '1')
    return { status: 400, text: 'The header X-Svc-Execution-Dispatch must be 1.' };
  if (!(await isVerified(request, verify))) return { status: 401, text: 'The caller is not verified.' };
  const body = await bodyOf(request, bodyBytesMax);
  if (body === 'too large') return { status: 413, text: `The body is larger than ${bodyBytesMax} bytes.` };
  const runId = runIdOf(body);
  if (runId === null) return { status: 400, text: 'The body names no run.' };
  try {
    await worker.deliver({ runId });
    return { status: 204 };
  } catch (error) {
    if (!(error instanceof WorkerUnavailableError))
      return { status: 500, text: 'The run was not carried out.' };
    const headers = { 'retry-after': String(retryAfterSeconds) };
    return { status: 503, text: 'The worker has no free slot.', headers };
  }
}

interface Limits {
  readonly bodyBytesMax: number;
  readonly retryAfterSeconds: number;
}

async function isVerified(request: IncomingMessage, verify: DeliveryOptions['verify']): Promise<boolean> {
  try {
    // Only `true` counts: a check that returns nothing has verified nothing.
    const verdict: unknown = await verify(request);
    return verdict === true;
  } catch {
    return false;
  }
}

async function bodyOf(request: IncomingMessage, bytesMax: number): Promise<Uint8Array | 'too large' | null> {
  const gathered = new GatheredBytes();
  try {
    // Keep the request open after an early return, so that it can be answered.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      if (gathered.size + chunk.length > bytesMax) return 'too large';
      gathered.add(chunk);
    }
  } catch {
    return null;
  }
  return gathered.whole();
}

const RUN_ID_LENGTH_MAX = 160;

/** Reads `{ runId, reason, scheduledAtUtc }`. The last two are for people. */
function runIdOf(body: Uint8Array | null): string | null {
  if (body === null) return null;
  let message: unknown;
  try {
    message = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return null;
  }
  if (typeof message !== 'object' || message === null) return null;
  const { runId, reason, scheduledAtUtc } = message as Partial<Record<string, unknown>>;
  const areTexts = [reason, scheduledAtUtc].every(
    (each) => each === undefined || each === null || typeof each === 'string',
  );
  if (!areTexts || typeof runId !== 'string') return null;
  const id = runId.trim();
  return id !== '' && id.length <= RUN_ID_LENGTH_MAX ? id : null;
}
