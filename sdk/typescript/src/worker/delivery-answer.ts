import { SvcError } from '../errors.ts';
import { GatheredBytes } from '../gathered.ts';
import { parseJson } from '../json-text.ts';
import { WorkerUnavailableError } from './errors.ts';
import type { SvcWorker } from './svc-worker.ts';

export interface DeliveryLimits {
  readonly bodyBytesMax: number;
  readonly retryAfterSeconds: number;
}

/** The request of a queue, from any HTTP server. */
export interface DeliveryRequest {
  readonly method: string | undefined;
  /** The header `X-Svc-Execution-Dispatch`. */
  readonly dispatch: unknown;
  readonly verify: () => unknown;
  /** Whether other code has read the body. Asked after `verify`, which may read it. */
  readonly isRead: () => boolean;
  /** Throws if the body is cut off. */
  readonly pieces: () => AsyncIterable<Uint8Array>;
}

export interface DeliveryAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string | null;
}

export const DISPATCH_HEADER = 'x-svc-execution-dispatch';

const RUN_ID_LENGTH_MAX = 160;
// A control character can be in no id: the service would refuse it at each delivery.
const RUN_ID = /^[^\p{Cc}\p{Cs}]+$/u;

/** As in Python. */
const BODY_BYTES_MAX = 65_536;
const BODY_BYTES_LIMIT = 16 * 1_048_576;
const RETRY_AFTER_SECONDS_MAX = 86_400;

/** `maker` is the function that the caller called. */
export function settleDelivery<Verify>(
  options:
    | ({ readonly [Limit in keyof DeliveryLimits]?: number | undefined } & { readonly verify: Verify })
    | undefined,
  maker: string,
): DeliveryLimits & { readonly verify: Verify } {
  const { bodyBytesMax = BODY_BYTES_MAX, retryAfterSeconds = 10 } = options ?? {};
  if (typeof options?.verify !== 'function')
    throw new SvcError(`${maker} needs verify: without it, any caller of the address can start runs.`);
  // A limit that is no number would limit nothing.
  checkWhole('bodyBytesMax', bodyBytesMax, 1, BODY_BYTES_LIMIT);
  checkWhole('retryAfterSeconds', retryAfterSeconds, 0, RETRY_AFTER_SECONDS_MAX);
  return { verify: options.verify, bodyBytesMax, retryAfterSeconds };
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new SvcError(`${name} must be a whole number from ${least} to ${most}.`);
}

/** Delivers the run that the request names, or refuses the request. */
export async function answerDelivery(
  worker: Pick<SvcWorker, 'deliver'>,
  request: DeliveryRequest,
  { bodyBytesMax, retryAfterSeconds }: DeliveryLimits,
): Promise<DeliveryAnswer> {
  if (request.method !== 'POST') return refused(405, 'A delivery must be a POST request.', { allow: 'POST' });
  if (request.dispatch !== '1') return refused(400, 'The header X-Svc-Execution-Dispatch must be 1.');
  if (!(await isVerified(request))) {
    return refused(401, 'The caller is not verified.', { 'www-authenticate': 'Bearer' });
  }
  if (request.isRead()) return refused(500, 'The body was read before the delivery: install no body parser.');
  const body = await bodyOf(request, bodyBytesMax);
  if (body === 'too large') return refused(413, `The body is larger than ${bodyBytesMax} bytes.`);
  const runId = runIdOf(body);
  if (runId === null) return refused(400, 'The body names no run.');
  try {
    await worker.deliver({ runId });
    return { status: 204, headers: {}, text: null };
  } catch (error) {
    if (!(error instanceof WorkerUnavailableError)) return refused(500, 'The run was not carried out.');
    return refused(503, 'The worker has no free slot.', { 'retry-after': String(retryAfterSeconds) });
  }
}

function refused(status: number, text: string, headers: DeliveryAnswer['headers'] = {}): DeliveryAnswer {
  return {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', ...headers },
    text: `${text}\n`,
  };
}

async function isVerified({ verify }: DeliveryRequest): Promise<boolean> {
  try {
    // Only `true` counts: a check that returns nothing has verified nothing.
    return (await verify()) === true;
  } catch {
    return false;
  }
}

async function bodyOf(request: DeliveryRequest, bytesMax: number): Promise<Uint8Array | 'too large' | null> {
  const gathered = new GatheredBytes();
  try {
    for await (const piece of request.pieces()) {
      if (gathered.size + piece.length > bytesMax) return 'too large';
      gathered.add(piece);
    }
  } catch {
    return null;
  }
  return gathered.whole();
}

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
  return RUN_ID.test(id) && id.length <= RUN_ID_LENGTH_MAX ? id : null;
}
