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
  /** Receives the reason why a reading of the file failed, without any text of the file. */
  readonly reportFault?: (fault: string) => void;
}

/** The service must refuse a removed key within a minute: half of it passes before a reading, half is for the reading. */
const rereadAfterMs = 30_000;
/** The same while the service holds no valid list: every request with a key then waits for the next reading. */
const retryAfterMs = 1_000;
/**
 * How long a valid list serves while newer readings fail. The time counts from the reading, not from the first fault: the
 * operator may have removed a key at any moment since.
 */
const goodForMs = 60_000;
const readWithinMs = 5_000;

/**
 * API keys in a file that may change while the service runs. The service follows an added, removed or ended key within a
 * minute, without a restart. While the file is invalid the last valid list serves for a minute; then every key of the file
 * is refused, because the operator may have removed it.
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

  /** A clock that was set back must not make a list last longer: the service reads the file again. */
  #noticeTime(now: number): void {
    if (now < this.#seenAt) this.#good = null;
    this.#seenAt = now;
  }

  #usable(): readonly ListedApiKey[] | null {
    if (this.#good === null || !isWithin(goodForMs, this.#good.at, this.#options.clock.now())) return null;
    return this.#good.keys;
  }

  async #read(at: number): Promise<void> {
    const { read, clock, timers, reportFault } = this.#options;
    try {
      const late = () => new ApiKeyListFault(`reading it took longer than ${readWithinMs} ms`);
      const keys = readApiKeyList(await beforeDeadline(timers, readWithinMs, read(), late));
      this.#good = { keys, at: Math.min(at, clock.now()) };
    } catch (error) {
      reportFault?.(`The file of API keys was not taken: ${reasonOf(error)}.`);
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
