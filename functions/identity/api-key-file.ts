import { ServiceError } from '../kernel/errors.ts';
import type { Clock, Timers } from '../kernel/world.ts';
import { ApiKeyListFault, type ListedApiKey, readApiKeyList } from './api-key-list.ts';
import type { ApiKeyFile } from './api-keys.ts';
import { beforeDeadline } from './deadline.ts';

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
/** How long the last good keys do for after a fault was first seen. */
const graceMs = 60_000;
const readWithinMs = 5_000;

/**
 * API keys in a file that may change while the service runs: a key that is added, taken out or has ended is treated so
 * within a minute, without a restart. A file that cannot be read or understood changes nothing at first, and after a
 * minute nobody is let in by it, because nobody knows which keys are still meant. `ListedApiKey` says what stands in it.
 */
export function createApiKeyFile(options: ApiKeyFileOptions): ApiKeyFile {
  return new RereadFile(options);
}

class RereadFile implements ApiKeyFile {
  readonly #options: ApiKeyFileOptions;
  /** The last good list. */
  #keys: readonly ListedApiKey[] | null = null;
  #readAt: number | null = null;
  #faultySince: number | null = null;
  #reading: Promise<void> | null = null;

  constructor(options: ApiKeyFileOptions) {
    this.#options = options;
  }

  async hashes(): Promise<readonly string[]> {
    const { clock } = this.#options;
    if (this.#reading === null && !isWithin(rereadAfterMs, this.#readAt, clock.now())) {
      this.#readAt = clock.now();
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
      });
    }
    await this.#reading;
    const now = clock.now();
    const outlived = this.#faultySince !== null && !isWithin(graceMs, this.#faultySince, now);
    if (this.#keys === null || outlived) {
      throw new ServiceError('unavailable', 'The API keys cannot be checked at the moment.');
    }
    return this.#keys.filter(({ notAfter }) => notAfter === null || now <= notAfter).map(({ hash }) => hash);
  }

  async #read(): Promise<void> {
    const { read, clock, timers, tell } = this.#options;
    try {
      const late = () => new ApiKeyListFault(`reading it took longer than ${readWithinMs} ms`);
      this.#keys = readApiKeyList(await beforeDeadline(timers, readWithinMs, read(), late));
      this.#faultySince = null;
    } catch (error) {
      this.#faultySince ??= clock.now();
      tell?.(`The file of API keys was not taken: ${reasonOf(error)}.`);
    }
  }
}

/** Whether less than `span` milliseconds have passed since. A clock that was set back makes nothing last longer. */
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
