import { limits } from '../../contracts/generated/limits.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Timers } from '../kernel/world.ts';
import type { Framing } from './headers.ts';
import { BrokenBodyError, type RawRequest } from './message.ts';

export interface BodyPolicy {
  /** How long a body may take that does not keep up with `bytesPerSecondMin`. */
  readonly timeoutMs: number;
  /** Every second of this pace extends the time, so that a large body over a slow line still arrives. */
  readonly bytesPerSecondMin: number;
}

export const bodyPolicy: BodyPolicy = {
  timeoutMs: limits.requestBodySeconds * 1000,
  bytesPerSecondMin: limits.requestBodyBytesPerSecondMin,
};

/** Reads the whole body, at most `limitBytes`. Refuses a declared length over it before the client is asked to send. */
export async function readBody(
  request: RawRequest,
  framing: Framing,
  limitBytes: number,
  timers: Timers,
  policy: BodyPolicy = bodyPolicy,
): Promise<Uint8Array> {
  if (framing.length !== null && framing.length > limitBytes) throw tooLarge(limitBytes);
  if (framing.length === 0) return new Uint8Array();
  request.proceed();
  const watch = watchPace(timers, policy);
  try {
    return await collect(request.body, limitBytes, watch);
  } finally {
    watch.stop();
  }
}

/** Refuses any body: for an operation that takes none. */
export async function refuseBody(request: RawRequest, framing: Framing, timers: Timers): Promise<void> {
  if (framing.length === 0) return;
  if (framing.length === null) {
    // A chunked body may still turn out to be empty.
    const body = await readBody(request, framing, 1, timers).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'payload_too_large') return new Uint8Array(1);
      throw error;
    });
    if (body.length === 0) return;
  }
  throw new ServiceError('malformed_request', 'The operation takes no request body.');
}

async function collect(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
  watch: PaceWatch,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let received = 0;
  // By hand, because leaving a `for await` early would close the connection before it carried the answer.
  const iterator = body[Symbol.asyncIterator]();
  for (;;) {
    let step: IteratorResult<Uint8Array>;
    try {
      step = await Promise.race([iterator.next(), watch.expired]);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      throw new BrokenBodyError({ cause: error });
    }
    if (step.done === true) return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    received += step.value.length;
    if (received > limitBytes) throw tooLarge(limitBytes);
    chunks.push(step.value);
    watch.advance(step.value.length);
  }
}

interface PaceWatch {
  readonly expired: Promise<never>;
  advance(bytes: number): void;
  stop(): void;
}

function watchPace(timers: Timers, policy: BodyPolicy): PaceWatch {
  let earnedMs = 0;
  let cancel: (() => void) | null = null;
  const expired = new Promise<never>((_resolve, reject) => {
    const arm = (delayMs: number): void => {
      cancel = timers.after(delayMs, () => {
        const extensionMs = earnedMs;
        earnedMs = 0;
        if (extensionMs >= 1) arm(extensionMs);
        else reject(new ServiceError('request_timeout', 'The request body did not arrive in time.'));
      });
    };
    arm(policy.timeoutMs);
  });
  // The body may be complete, and no reader listening, when the time is over.
  expired.catch(() => {});
  return {
    expired,
    advance(bytes) {
      earnedMs += (bytes * 1000) / policy.bytesPerSecondMin;
    },
    stop: () => cancel?.(),
  };
}

export function tooLarge(limitBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The request body is larger than ${limitBytes} bytes.`);
}
