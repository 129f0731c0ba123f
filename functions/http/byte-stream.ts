import { createHash, type Hash } from 'node:crypto';
import { ServiceError } from '../kernel/errors.ts';
import type { Clock, Timers } from '../kernel/world.ts';
import { type BodyPolicy, tooLarge } from './body.ts';
import type { ByteBody, ByteDigest } from './byte-body.ts';
import { BrokenBodyError } from './message.ts';

/** Reads request bodies as streams, in flat memory: the handler pulls, and the client waits while the handler works. */

export interface StreamWorld {
  readonly clock: Clock;
  readonly timers: Timers;
}

/**
 * The chunks of a body, at most `limitBytes`. Only the waiting for the client counts against its time: at most
 * `timeoutMs` without progress, and each byte earns back the time that the slowest allowed pace takes for it.
 */
export async function* pacedChunks(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
  world: StreamWorld,
  policy: BodyPolicy,
): AsyncGenerator<Uint8Array, void, undefined> {
  // By hand: leaving a `for await` early would close the connection before it carries the answer.
  const iterator = body[Symbol.asyncIterator]();
  let budgetMs = policy.timeoutMs;
  let received = 0;
  for (;;) {
    const startedAt = world.clock.now();
    const step = await within(world.timers, budgetMs, iterator.next());
    if (step.done === true) return;
    received += step.value.length;
    if (received > limitBytes) throw tooLarge(limitBytes);
    const spentMs = Math.max(0, world.clock.now() - startedAt);
    const earnedMs = (step.value.length * 1000) / policy.bytesPerSecondMin;
    // Capped, so that a client cannot save up time with a fast start and then hold a connection.
    budgetMs = Math.min(policy.timeoutMs, budgetMs - spentMs + earnedMs);
    if (step.value.length > 0) yield step.value;
  }
}

async function within<T>(timers: Timers, delayMs: number, action: Promise<T>): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const cancel = timers.after(Math.max(0, delayMs), () =>
    reject(new ServiceError('request_timeout', 'The request body did not arrive in time.')),
  );
  try {
    return await Promise.race([action, expired]);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new BrokenBodyError({ cause: error });
  } finally {
    cancel();
  }
}

export interface ByteBodyHead {
  readonly mediaType: string;
  readonly fileName?: string | null;
}

/** A body that counts and hashes its bytes while a handler reads them. */
export function byteBody(chunks: AsyncIterable<Uint8Array>, head: ByteBodyHead): ByteBody {
  const { promise: digest, resolve, reject } = Promise.withResolvers<ByteDigest>();
  // A handler that reads the bytes alone sees the error there.
  digest.catch(() => {});
  let taken = false;
  return {
    mediaType: head.mediaType,
    fileName: head.fileName ?? null,
    digest,
    [Symbol.asyncIterator]() {
      if (taken) throw new Error('a body of bytes is read once');
      taken = true;
      return hashed(chunks, createHash('sha256'), resolve, reject);
    },
  };
}

async function* hashed(
  chunks: AsyncIterable<Uint8Array>,
  hash: Hash,
  resolve: (digest: ByteDigest) => void,
  reject: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let size = 0;
  let ended = false;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      hash.update(chunk);
      yield chunk;
    }
    ended = true;
    resolve({ size, hash: `sha256:${hash.digest('hex')}` });
  } catch (error) {
    reject(error);
    throw error;
  } finally {
    // Settles for a reader that stops early; a digest that is settled already keeps its state.
    if (!ended) reject(new Error('the body was not read to its end'));
  }
}
