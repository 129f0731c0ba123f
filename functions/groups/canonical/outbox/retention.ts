import { describeFailure, type Log } from '../../../kernel/log.ts';
import { formatUtc } from '../../../kernel/timestamp.ts';
import type { World } from '../../../kernel/world.ts';
import type {
  ListSelection,
  LoadedRecords,
  RecordData,
  RecordKey,
  RecordStore,
  Scope,
  Write,
} from '../../../store/port.ts';
import { EVENTS, tenantScope } from '../records.ts';
import { EVENT_GROUP, EVENT_INDEX, type EventState, readEvent } from './outbox-event.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The size of one removal. A batch is small, because records are read with their payloads. All batches together exceed the
 * deliveries of the fastest consumer between two lease calls, so that removal keeps up.
 */
const BATCH_RECORDS = 25;
const BATCHES_MAX = 8;

/** Pause after a complete walk. Records that were read but kept lengthen it, which bounds such reads in an hour. */
const PAUSE_MS = 60_000;
const PAUSE_MS_PER_VAIN_READ = 6_000;
const PAUSE_MS_MAX = DAY_MS;

/** The most tenants with stored progress. For any other tenant the walk starts again. */
const TENANTS_MAX = 10_000;

/**
 * Whether a delivered event has expired: no call shows it then. The answer depends on `now` and not on the removal of the record, so
 * every provider answers the same. All readers of event records must call it: queries, calls on one event, commits, and exports
 * (with the time of the export).
 */
function isGone(event: EventState, keptMs: number | null, now: number): boolean {
  if (keptMs === null || event.state !== 'delivered' || event.deliveredAtUtc === null) return false;
  return event.deliveredAtUtc < formatUtc(now - keptMs);
}

export interface RetentionOptions {
  /** `null`: delivered events are kept for ever. */
  readonly keptDays: number | null;
  readonly store: () => Promise<RecordStore>;
  readonly clock: World['clock'];
  readonly log: Log;
}

/** Retention of delivered events: decides which have expired, and removes their records in the background of ordinary calls. */
export class DeliveredRetention {
  readonly #keptMs: number | null;
  readonly #options: RetentionOptions;
  readonly #tenants = new Map<string, Progress>();
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#keptMs = options.keptDays === null ? null : options.keptDays * DAY_MS;
  }

  /** Calls the function of this name with the configured time. */
  isGone(event: EventState, now: number): boolean {
    return isGone(event, this.#keptMs, now);
  }

  /** The found records without expired events, so that rules treat them as removed. */
  present(found: LoadedRecords, now: number): LoadedRecords {
    if (this.#keptMs === null) return found;
    return {
      get: (key) => {
        const record = found.get(key);
        if (record === undefined || record.key.collection !== EVENTS.name) return record;
        return this.isGone(readEvent(record), now) ? undefined : record;
      },
    };
  }

  /**
   * Starts to remove the tenant's expired events, unless a removal runs or would find none yet. No call waits for it. It may be
   * interrupted at any time, and the next call continues it.
   */
  removeBehind(tenantId: string): void {
    if (this.#keptMs === null || this.#running.has(tenantId)) return;
    const progress = this.#tenants.get(tenantId);
    if (progress !== undefined && progress.notBefore > this.#options.clock.now()) return;
    const removal = this.#remove(tenantScope(tenantId), this.#keptMs, progress ?? BEGINNING)
      .then((next) => this.#remember(tenantId, next))
      .catch((error: unknown) => {
        this.#remember(tenantId, { ...BEGINNING, notBefore: this.#options.clock.now() + PAUSE_MS });
        this.#options.log({
          severity: 'WARNING',
          message: 'delivered events could not be removed; a later call tries again',
          failure: describeFailure(error),
        });
      })
      .finally(() => this.#running.delete(tenantId));
    this.#running.set(tenantId, removal);
  }

  /** Settles when no removal is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  #remember(tenantId: string, progress: Progress): void {
    this.#tenants.delete(tenantId);
    this.#tenants.set(tenantId, progress);
    const [oldest] = this.#tenants.keys();
    if (this.#tenants.size > TENANTS_MAX && oldest !== undefined) this.#tenants.delete(oldest);
  }

  /**
   * Walks the delivered events, oldest first, and ends at the first one that was created within the retention time: no later one can
   * have expired. Before it, events that were delivered late are read but kept.
   */
  async #remove(scope: Scope, keptMs: number, from: Progress): Promise<Progress> {
    const store = await this.#options.store();
    let { after, vain } = from;
    for (let batch = 0; batch < BATCHES_MAX; batch++) {
      const now = this.#options.clock.now();
      const createdBefore = formatUtc(now - keptMs);
      const page = await store.query(scope, delivered(after));
      const old = page.records.filter((record) => readEvent(record).createdAtUtc < createdBefore);
      const gone = old.filter((record) => isGone(readEvent(record), keptMs, now));
      if (gone.length > 0) await removeRecords(store, scope, gone, (event) => isGone(event, keptMs, now));
      vain += old.length - gone.length;
      after = page.next;
      if (after === null || old.length < page.records.length) {
        const pauseMs = Math.min(PAUSE_MS + vain * PAUSE_MS_PER_VAIN_READ, PAUSE_MS_MAX);
        return { ...BEGINNING, notBefore: now + pauseMs };
      }
    }
    return { after, vain, notBefore: 0 };
  }
}

/** The progress of the walk over a tenant's delivered events, and the time of its next step. */
interface Progress {
  readonly after: string | null;
  /** Records that the walk has read and kept so far. */
  readonly vain: number;
  readonly notBefore: number;
}

const BEGINNING: Progress = { after: null, vain: 0, notBefore: 0 };

function delivered(after: string | null): ListSelection {
  return {
    by: 'list',
    collection: EVENTS,
    group: EVENT_GROUP,
    equal: { [EVENT_INDEX.phase]: 'delivered' },
    limit: BATCH_RECORDS,
    ...(after === null ? {} : { after }),
  };
}

/** Checks each event again in the transaction, because a new event of the same id may have been committed. */
async function removeRecords(
  store: RecordStore,
  scope: Scope,
  records: readonly RecordData[],
  gone: (event: EventState) => boolean,
): Promise<void> {
  const keys: RecordKey[] = records.map(({ key }) => key);
  await store.transact(scope, { keys: keys.map((key) => ({ key })) }, (found) => {
    const writes = keys.flatMap((key): Write[] => {
      const record = found.get(key);
      return record !== undefined && gone(readEvent(record)) ? [{ remove: key }] : [];
    });
    return { writes, result: undefined };
  });
}
