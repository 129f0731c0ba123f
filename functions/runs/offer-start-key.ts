import { listPages, recordsOf } from '../store/pages.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun, runKey, runRecord, SLOTS } from './records.ts';
import { type KeySlot, offerPlace, withoutWaiting } from './rules/start-key.ts';
import type { Run } from './run.ts';
import { messageOf, ownerOfRun } from './run-job.ts';
import type { Runtime } from './runtime.ts';
import { findSlot, type StartSlot, slotIn, slotLooked, slotRequests, slotWrite } from './start-slot.ts';

/** Rivals may change the slot between its read and the transaction. */
const RIVALS_MAX = 8;

/** Slots that one reconcile looks after at most. */
const SLOTS_MAX = 64;

/**
 * Gives the free places of the key to the runs that have waited longest, so that workers find these. Costs one read where no run waits.
 */
export async function offerStartKey(runtime: Runtime, slot: StartSlot, now: number): Promise<void> {
  const limit = runtime.registry.concurrencyLimitOf(slot.handlerId);
  for (let tries = 0; tries < limit + RIVALS_MAX; tries += 1) {
    const seen = await findSlot(runtime, slot.name);
    if (seen.waits === 0) return;
    const [oldest, second] = await waiting(runtime, slot.name);
    const isLast = second === undefined;
    const offered = await offerOnce(runtime, slot, { seen, oldest, isLast, limit, now });
    if (offered === 'over') return;
    if (offered === 'rival') continue;
    await announceOffer(runtime, offered, now);
    if (isLast) return;
  }
}

/** Looks after keys whose offer was lost, as in a crash between the end of a run and the offer of its place. */
export async function offerLeftKeys(runtime: Runtime, now: number): Promise<number> {
  const store = await runtime.store();
  const limit = SLOTS_MAX;
  const found = await store.claim<StartSlot>(runtime.scope, SLOTS, { now, limit }, (record) =>
    slotLooked(record, now),
  );
  for (const slot of found) await offerStartKey(runtime, slot, now);
  return found.length;
}

/** The two runs that have waited longest for the key. */
async function waiting(runtime: Runtime, name: string): Promise<readonly Run[]> {
  const store = await runtime.store();
  const equal = { [RUN_INDEX.waits]: name };
  const pages = listPages(store, runtime.scope, { collection: RUNS, group: RUN_GROUP, equal, limit: 2 });
  const found: Run[] = [];
  for await (const record of recordsOf(pages)) {
    found.push(readRun(record));
    if (found.length === 2) break;
  }
  return found;
}

interface Offer {
  readonly seen: KeySlot;
  /** `undefined`: no run waits. */
  readonly oldest: Run | undefined;
  readonly isLast: boolean;
  readonly limit: number;
  readonly now: number;
}

/** The run that has a place now. `over`: there is no room, or no run waits. `rival`: another call was faster. */
async function offerOnce(
  runtime: Runtime,
  slot: StartSlot,
  { seen, oldest, isLast, limit, now }: Offer,
): Promise<Run | 'over' | 'rival'> {
  const { name } = slot;
  const ofRun = oldest === undefined ? [] : [{ key: runKey(oldest.id), view: 'body' as const }];
  const keys = [...slotRequests(name, seen, oldest?.id ?? ''), ...ofRun];
  const [{ key: gate }] = keys as [(typeof keys)[number]];
  const store = await runtime.store();
  return store.transact<Run | 'over' | 'rival'>(runtime.scope, { gate, keys, frees: true }, (found) => {
    const view = slotIn(found, name, seen, { limit, now });
    if (view === null) return { writes: [], result: 'rival' };
    if (oldest === undefined) {
      if (found.get(gate) === undefined) return { writes: [], result: 'over' };
      if (view.slot.waits !== seen.waits) return { writes: [], result: 'rival' };
      const rest = withoutWaiting(view);
      const write = rest === null ? { remove: gate } : slotWrite(slot, rest, now);
      return { writes: [write], result: 'over' };
    }
    const record = found.get(runKey(oldest.id));
    const run = record === undefined ? undefined : readRun(record, oldest.id);
    if (run?.status !== 'queued' || run.waitsForKey !== true) return { writes: [], result: 'rival' };
    const next = offerPlace(run, view, { isLast, seenWaits: seen.waits });
    if (next === null) return { writes: [], result: 'over' };
    const { waitsForKey: _over, ...offered } = run;
    const writes = [{ put: runRecord(offered) }, slotWrite(slot, next, now)];
    return { writes, result: offered, owner: ownerOfRun(offered) };
  });
}

async function announceOffer(runtime: Runtime, run: Run, now: number): Promise<void> {
  runtime.queuedWatch.notify(run);
  try {
    const repeatKey = `key ${now}`;
    await runtime.queue.enqueue({ ...messageOf(run), reason: 'run_ready', notBefore: now, repeatKey });
  } catch (error) {
    runtime.ready?.hint(run.handlerId);
    throw error;
  }
}
