import { ByteBlocks } from '../kernel/byte-blocks.ts';
import { ServiceError } from '../kernel/errors.ts';
import { type BodyPolicy, BodyTime, type StreamWorld, timedOut } from './body-time.ts';
import { BrokenBodyError, type GatheredBody } from './message.ts';

/** A body of up to this declared length is gathered while it arrives. */
export const SMALL_BODY_BYTES = 16 * 1024;

/**
 * A body of a small, declared length. It is gathered beside the work on its request, so that reading it takes one wait: a stream
 * with its iterators costs more than most operations do.
 */
export class SmallBody implements GatheredBody, AsyncIterable<Uint8Array> {
  readonly #blocks = new ByteBlocks();
  #isEnded = false;
  #failure: { readonly error: unknown } | null = null;
  /** The reader that waits: called with each piece, at the end (0 bytes) and at a failure. */
  #changed: ((bytes: number) => void) | null = null;

  add(piece: Uint8Array): void {
    this.#blocks.add(piece);
    this.#changed?.(piece.length);
  }

  end(): void {
    this.#isEnded = true;
    this.#changed?.(0);
  }

  fail(error: unknown): void {
    if (this.#isEnded) return;
    this.#failure ??= { error };
    this.#changed?.(0);
  }

  async whole(world: StreamWorld, policy: BodyPolicy): Promise<ByteBlocks> {
    if (!this.#isOver()) await this.#arrival(world, policy);
    return this.#blocks;
  }

  /** For a reader of streams alone: one piece, when the whole body is here. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    while (!this.#isOver())
      await new Promise<void>((resolve) => {
        this.#changed = () => resolve();
      });
    if (this.#blocks.size > 0) yield this.#blocks.take();
  }

  /** Whether the whole body is here. Throws when the rest will not arrive. */
  #isOver(): boolean {
    if (this.#failure === null) return this.#isEnded;
    const { error } = this.#failure;
    throw error instanceof ServiceError ? error : new BrokenBodyError({ cause: error });
  }

  #arrival({ clock, timers }: StreamWorld, policy: BodyPolicy): Promise<void> {
    const time = new BodyTime(policy, clock);
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        cancel();
        this.#changed = null;
        resolve();
      };
      const expire = (): void => {
        const leftMs = time.leftMs();
        if (leftMs > 0) cancel = timers.after(leftMs, expire);
        else {
          this.#changed = null;
          reject(timedOut());
        }
      };
      let cancel = timers.after(time.leftMs(), expire);
      this.#changed = (bytes) => {
        time.earn(bytes);
        try {
          if (this.#isOver()) settle();
        } catch (error) {
          cancel();
          this.#changed = null;
          reject(error);
        }
      };
    });
  }
}
