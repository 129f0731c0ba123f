import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Callable = (this: unknown, ...given: unknown[]) => unknown;

/** The cost of one call, in bytes: a reader that calls for each byte does hundreds of times the work of its bytes. */
const BYTES_A_CALL = 512;

/**
 * Counts the work that a reader does with bytes: what is joined, decoded, parsed and hashed. So the processor time of two ways to
 * send the same bytes is compared without a clock.
 */
export class CopyCounter {
  #work = 0;
  readonly #restore: (() => void)[] = [];

  constructor() {
    this.#count(Buffer, 'concat', (_, made) => sizeOf(made));
    this.#count(Buffer, 'from', ([data]) => sizeOf(data));
    this.#count(Buffer.prototype, 'toString', (_, made) => sizeOf(made));
    this.#count(TextDecoder.prototype, 'decode', ([data]) => sizeOf(data));
    this.#count(JSON, 'parse', ([text]) => sizeOf(text));
    this.#count(crypto.Hash.prototype, 'update', ([data]) => sizeOf(data));
    syncBuiltinESMExports();
  }

  /** In bytes. */
  get work(): number {
    return this.#work;
  }

  close(): void {
    for (const restore of this.#restore) restore();
    syncBuiltinESMExports();
  }

  #count(on: object, name: string, bytesOf: (given: readonly unknown[], made: unknown) => number): void {
    const methods = on as Record<string, Callable>;
    const original = methods[name];
    if (original === undefined) throw new Error(`there is no ${name}`);
    const add = (bytes: number): void => {
      this.#work += BYTES_A_CALL + bytes;
    };
    methods[name] = function counted(this: unknown, ...given: unknown[]): unknown {
      const made = original.apply(this, given);
      add(bytesOf(given, made));
      return made;
    };
    this.#restore.push(() => {
      methods[name] = original;
    });
  }
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return ArrayBuffer.isView(value) ? value.byteLength : 0;
}
