import type { Clock, RandomSource, Timers } from '../../kernel/world.ts';
import { delay } from '../../kernel/world.ts';
import type { LookMemory } from '../look-memory.ts';
import type { NearestSearch } from '../nearest/nearest-search.ts';
import { StoreError } from '../port.ts';
import type { Rivalry } from '../rivalry.ts';
import type { Connection, Database } from './connection.ts';
import { isLostRace } from './errors.ts';
import type { Locks } from './locks.ts';
import type { SearchTables } from './search-schema.ts';

/** Dependencies of every verb. */
export interface Session {
  readonly database: Database;
  readonly locks: Locks;
  readonly rivalry: Rivalry;
  readonly search: SearchTables;
  readonly nearest: NearestSearch;
  readonly looks: LookMemory;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly timers: Timers;
  /** Whether lists of this collection combine an equality with an order. Set when the store is opened. */
  readonly paired: (collection: string) => boolean;
  /** The collections whose lists always name a group. Set when the store is opened. */
  readonly grouped: ReadonlySet<string>;
}

/** Nothing was written, and another try with fresh reads may succeed. */
export class LostRace extends Error {
  override readonly name = 'LostRace';
}

const attemptsMax = 12;
const patienceMs = 15_000;
const delayMs = { least: 1, spread: 4, max: 200 };

/** Runs one transaction, again while rivals win it: most races are lost once, since the next try waits in line. */
export async function persistently<R>(
  session: Session,
  work: (connection: Connection) => Promise<R>,
): Promise<R> {
  const { clock, random, timers } = session;
  const until = clock.now() + patienceMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await session.database.run(work);
    } catch (error) {
      if (!(error instanceof LostRace) && !isLostRace(error)) throw error;
      if (attempt === attemptsMax || clock.now() > until) {
        throw new StoreError('contention', 'PostgreSQL: rivals won every attempt');
      }
    }
    if (attempt === 1) continue;
    const jitter = (random.bytes(1)[0] ?? 0) / 256;
    await delay(timers, Math.min(delayMs.max, delayMs.least + jitter * delayMs.spread * 2 ** attempt));
  }
}
