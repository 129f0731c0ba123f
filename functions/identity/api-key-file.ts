import { beforeDeadline } from '../kernel/deadline.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { Clock, Timers } from '../kernel/world.ts';
import { ApiKeyListFault, type ListedApiKey, readApiKeyList } from './api-key-list.ts';
import type { ApiKeyFile } from './api-keys.ts';

export interface ApiKeyFileOptions {
  /** The text of the file. */
  readonly read: () => Promise<string>;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Told why the file was not taken, in words without anything that stands in it, each time it is tried. */
  readonly tell?: (fault: string) => void;
}

/** Half of the minute in which a key that is taken out has to be refused; the other half is for slow readers. */
const rereadAfterMs = 30_000;
/** The same where nobody is let in by the file: every request then waits for it to be good again. */
const retryAfterMs = 1_000;
/**
 * How long a good reading does for, whatever became of the file. It counts from the reading and not from the first fault:
 * in a quiet hour nobody looks, and a key may have been taken out at any time since.
 */
const goodForMs = 60_000;
const readWithinMs = 5_000;

/**
 * API keys in a file that may change while the service runs: a key that is added, taken out or has ended is treated so
 * within a minute, without a restart. A file that cannot be read or understood changes nothing at first, and a minute after
 * its last good reading nobody is let in by it, because nobody knows which keys are still meant. `ListedApiKey` says what stands in it.
 */
export function createApiKeyFile(options: ApiKeyFileOptions): ApiKeyFile {
  return new RereadFile(options);
}

class RereadFile implements ApiKeyFile {
  readonly #options: ApiKeyFileOptions;
  /** The last good list, and when its reading began. */
  #good: { readonly keys: readonly ListedApiKey[]; readonly at: number } | null = null;
  #triedAt: number | null = null;
  #seenAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(options: ApiKeyFileOptions) {
    this.#options = options;
  }

  async hashes(): Promise<readonly string[]> {
    const { clock } = this.#options;
    this.#noticeTime(clock.now());
    const rereadMs = this.#usable() ? rereadAfterMs : retryAfterMs;
    if (this.#reading === null && !isWithin(rereadMs, this.#triedAt, clock.now())) {
      this.#triedAt = clock.now();
      this.#reading = this.#read(this.#triedAt).finally(() => {
        this.#reading = null;
      });
    }
    await this.#reading;
    const now = clock.now();
    const keys = this.#usable();
    if (keys === null) throw new ServiceError('unavailable', 'The API keys cannot be checked at the moment.');
    return keys.filter(({ notAfter }) => notAfter === null || now <= notAfter).map(({ hash }) => hash);
  }

  /** A clock that was set back makes nothing last longer: what was read before that is read again, or not used. */
  #noticeTime(now: number): void {
    if (now < this.#seenAt) this.#good = null;
    this.#seenAt = now;
  }

  #usable(): readonly ListedApiKey[] | null {
    if (this.#good === null || !isWithin(goodForMs, this.#good.at, this.#options.clock.now())) return null;
    return this.#good.keys;
  }

  async #read(at: number): Promise<void> {
    const { read, clock, timers, tell } = this.#options;
    try {
      const late = () => new ApiKeyListFault(`reading it took longer than ${readWithinMs} ms`);
      const keys = readApiKeyList(await beforeDeadline(timers, readWithinMs, read(), late));
      this.#good = { keys, at: Math.min(at, clock.now()) };
    } catch (error) {
      tell?.(`The file of API keys was not taken: ${reasonOf(error)}.`);
    }
  }
}

/** Whether less than `span` milliseconds have passed since. */
function isWithin(span: number, since: number | null, now: number): boolean {
  return since !== null && now >= since && now - since < span;
}

function reasonOf(error: unknown): string {
  if (error instanceof ApiKeyListFault) return error.message;
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[A-Z0-9_]{1,48}$/.test(code)
    ? `reading it failed with ${code}`
    : 'reading it failed';
}
