import { ByteBlocks } from '../kernel/byte-blocks.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Timers } from '../kernel/world.ts';
import { type BodyPolicy, BodyTime, type StreamWorld, timedOut } from './body-time.ts';
import { BrokenBodyError } from './message.ts';

/** Smaller pieces are joined before a handler gets them. */
const YIELDED_BYTES_MIN = 16 * 1024;

/** The chunks of a body, at most `limitBytes`. Only the waiting for the client counts against its time. */
export async function* pacedChunks(
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
  world: StreamWorld,
  policy: BodyPolicy,
): AsyncGenerator<Uint8Array, void, undefined> {
  // By hand: leaving a `for await` early would close the connection before it carries the answer.
  const iterator = body[Symbol.asyncIterator]();
  const time = new BodyTime(policy, world.clock);
  const blocks = new ByteBlocks();
  let received = 0;
  for (;;) {
    time.resume();
    const step = await within(world.timers, time.leftMs(), iterator.next());
    if (step.done === true) break;
    received += step.value.length;
    if (received > limitBytes) throw tooLarge(limitBytes);
    time.earn(step.value.length);
    blocks.add(step.value);
    if (blocks.size >= YIELDED_BYTES_MIN) yield blocks.take();
  }
  if (blocks.size > 0) yield blocks.take();
}

async function within<T>(timers: Timers, delayMs: number, action: Promise<T>): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const cancel = timers.after(delayMs, () => reject(timedOut()));
  try {
    return await Promise.race([action, expired]);
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new BrokenBodyError({ cause: error });
  } finally {
    cancel();
  }
}

export function tooLarge(limitBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The request body is larger than ${limitBytes} bytes.`);
}
