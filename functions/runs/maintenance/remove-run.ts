import { describeFailure } from '../../kernel/log.ts';
import type { Collection, Found, KeyRequest, RecordKey, RecordPage, Write } from '../../store/port.ts';
import { artifactPrefix } from '../artifact.ts';
import { admissionOfRun, REMAINS, readRun, remainsKey, runKey, slotKey } from '../records.ts';
import { isTerminal, type Run } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { mayOwn, OWNED, sameState } from './belongings.ts';
import { settledEach } from './parallel.ts';

/** What goes with runs, as it is counted. */
export interface PruneCounts {
  readonly runs: number;
  readonly events: number;
  readonly artifacts: number;
  readonly checkpoints: number;
  readonly timers: number;
  readonly externalEvents: number;
  readonly leases: number;
  readonly artifactDirectories: number;
}

/** Records that one look takes in: an artifact or a checkpoint comes whole. */
const PAGE = 50;

/** Records that go in the same transaction as their run; of more, what remains is removed afterwards. */
const TOGETHER_MAX = 100;

/** How long whoever removed a run has for what remains, before another prune takes it over. */
const REMAINS_MS = 60_000;

/**
 * A large artifact is put away before the transaction that refuses its late writer. No call takes as long as this, so what lies
 * under the run's prefix then is all there will ever be.
 */
export const LATE_BYTES_MS = 3_600_000;

const RESUMED_WIDTH = 8;

/** A run changes at most so often between two looks at it, before it is removed whatever it has. */
const LOOKS_MAX = 3;

interface Belongings {
  readonly keys: readonly RecordKey[];
  /** Whether these are all. */
  readonly complete: boolean;
}

/** The records beside a run, at most as many as go with it. */
async function belongingsOf(runtime: Runtime, run: Run): Promise<Belongings> {
  const pages = await Promise.all(mayOwn(run).map((collection) => ownedPage(runtime, run.id, collection)));
  const keys = pages.flatMap(({ records }) => records.map(({ key }) => key));
  return { keys, complete: keys.length <= TOGETHER_MAX && pages.every(({ next }) => next === null) };
}

async function ownedPage(
  runtime: Runtime,
  runId: string,
  collection: Collection,
  after: string | null = null,
): Promise<RecordPage> {
  const store = await runtime.store();
  return store.query(runtime.scope, {
    by: 'list',
    collection,
    group: runId,
    limit: PAGE,
    ...(after === null ? {} : { after }),
  });
}

/** What removing the run would remove. */
export async function countRun(runtime: Runtime, run: Run): Promise<PruneCounts> {
  const found: string[] = [];
  for (const collection of mayOwn(run)) {
    let after: string | null = null;
    do {
      const page: RecordPage = await ownedPage(runtime, run.id, collection, after);
      found.push(...page.records.map(({ key }) => key.collection));
      after = page.next;
    } while (after !== null);
  }
  return countsOf(run, found, await hasBytes(runtime, run));
}

function countsOf(run: Run, collections: readonly string[], bytes: boolean): PruneCounts {
  const countOf = (name: string) => collections.filter((each) => each === name).length;
  return {
    runs: 1,
    events: run.traced - run.traceDropped,
    artifacts: run.artifacts,
    checkpoints: countOf('checkpoints'),
    timers: countOf('timers'),
    externalEvents: run.inbox.length,
    leases: countOf('leases'),
    artifactDirectories: bytes ? 1 : 0,
  };
}

async function hasBytes({ blobs: open }: Runtime, { id, attempt }: Run): Promise<boolean> {
  // Only who leased a run puts bytes away for it.
  if (open === null || attempt === 0) return false;
  const blobs = await open();
  let after: string | undefined;
  do {
    const { keys, next } = await blobs.list(artifactPrefix(id), {
      limit: 1,
      ...(after === undefined ? {} : { after }),
    });
    if (keys.length > 0) return true;
    after = next ?? undefined;
  } while (after !== undefined);
  return false;
}

/**
 * Removes a terminal run with all that belongs to it; `null` where it is gone already. What fits goes in one transaction with
 * the run and its key; of anything else that transaction leaves a record which names the run, so that whoever comes next
 * removes the rest, wherever this call ends.
 */
export async function removeRun(runtime: Runtime, seen: Run, now: number): Promise<PruneCounts | null> {
  let run = seen;
  for (let looks = 1; ; looks += 1) {
    const owned = await belongingsOf(runtime, run);
    const lateUntil = lateUntilOf(runtime, run, now);
    const bytes = await hasBytes(runtime, run);
    const alone = owned.complete && !bytes && lateUntil === null;
    const found = await takeRun(runtime, run, alone ? owned.keys : null, {
      now,
      lateUntil,
      sure: looks >= LOOKS_MAX,
    });
    if (found === 'gone') return null;
    if (found === 'removed') {
      const collections = owned.keys.map(({ collection }) => collection);
      return countsOf(run, collections, false);
    }
    if (found === 'remains') {
      const removed = await clearedOrLeft(runtime, { runId: run.id, lateUntil }, now);
      return countsOf(run, removed.collections, bytes || removed.bytes);
    }
    run = found;
  }
}

/** Until when bytes of a late writer may still come; `null` where that is over, or there is nowhere to put them. */
function lateUntilOf({ blobs }: Runtime, run: Run, now: number): number | null {
  if (blobs === null || run.attempt === 0) return null;
  const until = (run.completedAt ?? run.updatedAt) + LATE_BYTES_MS;
  return until > now ? until : null;
}

interface Taking {
  readonly now: number;
  readonly lateUntil: number | null;
  /** Removes the run even if it was written to since it was seen, and leaves what it has to be cleared. */
  readonly sure: boolean;
}

/** The run as it is, where it was written to since it was seen. `keys`: all that it owns; `null` where that is left. */
async function takeRun(
  runtime: Runtime,
  run: Run,
  keys: readonly RecordKey[] | null,
  { now, lateUntil, sure }: Taking,
): Promise<'removed' | 'remains' | 'gone' | Run> {
  const key = runKey(run.id);
  const admission = admissionOfRun(run);
  const slot = run.concurrencyKey === null ? null : slotKey(run.concurrencyKey);
  const named = [admission, slot].filter((each) => each !== null);
  const requests: KeyRequest[] = [
    { key, view: 'body' },
    ...[...named, ...(keys ?? [])].map((each) => ({ key: each })),
  ];
  if (keys === null || sure) requests.push({ key: remainsKey(run.id), expectAbsent: true });
  const store = await runtime.store();
  return store.transact<'removed' | 'remains' | 'gone' | Run>(
    runtime.scope,
    { gate: key, keys: requests },
    (found) => {
      const record = found.get(key);
      const before = record === undefined ? undefined : readRun(record, run.id);
      if (before === undefined || !isTerminal(before.status)) return { writes: [], result: 'gone' };
      const same = sameState(before, run);
      if (!same && !sure && keys !== null) return { writes: [], result: before };
      const mine = named.filter((each) => isOwned(found, each, run.id));
      const writes: Write[] = [key, ...mine].map((each) => ({ remove: each }));
      if (keys !== null && same) {
        const there = keys.filter((each) => isOwned(found, each, run.id));
        return { writes: [...writes, ...there.map((each) => ({ remove: each }))], result: 'removed' };
      }
      writes.push({ put: remainsRecord(run.id, lateUntil, now) });
      return { writes, result: 'remains' };
    },
  );
}

function remainsRecord(runId: string, lateUntil: number | null, now: number) {
  return {
    key: remainsKey(runId),
    head: { runId, lateUntil },
    body: null,
    listing: { group: 'remains', id: runId, hidden: false, indexes: {} },
    due: now + REMAINS_MS,
  };
}

interface Cleared {
  /** Of each record that this call removed. */
  readonly collections: readonly string[];
  readonly bytes: boolean;
}

interface Remains {
  readonly runId: string;
  readonly lateUntil: number | null;
}

/** What cannot be cleared now is due again soon: the run itself is gone, and nothing else waits for it. */
async function clearedOrLeft(runtime: Runtime, remains: Remains, now: number): Promise<Cleared> {
  try {
    return await clearRemains(runtime, remains, now);
  } catch (error) {
    const message = 'What a removed run has left could not be removed yet';
    runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
    return { collections: [], bytes: false };
  }
}

/** Removes what a run that is gone has left, in bounded steps, and then what tells of it. */
async function clearRemains(runtime: Runtime, { runId, lateUntil }: Remains, now: number): Promise<Cleared> {
  const collections: string[] = [];
  for (const collection of OWNED) {
    let more = true;
    while (more) {
      // Always the first page: the one before is gone.
      const page = await ownedPage(runtime, runId, collection);
      const removed = await removeOwned(
        runtime,
        runId,
        page.records.map(({ key }) => key),
      );
      collections.push(...removed.map((key) => key.collection));
      more = page.next !== null;
    }
  }
  const blobs = await runtime.blobs?.();
  const bytes = blobs === undefined ? 0 : await blobs.removeAll(artifactPrefix(runId));
  const key = remainsKey(runId);
  const store = await runtime.store();
  await store.transact(runtime.scope, { gate: key, keys: [{ key }] }, (found) => {
    const record = found.get(key);
    if (record === undefined) return { writes: [], result: null };
    const late = lateUntil !== null && lateUntil > now;
    const write: Write = late ? { put: { key, head: record.head, due: lateUntil } } : { remove: key };
    return { writes: [write], result: null };
  });
  return { collections, bytes: bytes > 0 };
}

/** A lease on a name, or a concurrency key, may be another run's since it was seen: each record says whose it is. */
function isOwned(found: Found, key: RecordKey, runId: string): boolean {
  return found.get(key)?.head.runId === runId;
}

/** Answers those that were there. */
async function removeOwned(
  runtime: Runtime,
  runId: string,
  keys: readonly RecordKey[],
): Promise<readonly RecordKey[]> {
  const [gate] = keys;
  if (gate === undefined) return [];
  const store = await runtime.store();
  return store.transact(runtime.scope, { gate, keys: keys.map((key) => ({ key })) }, (found) => {
    const there = keys.filter((key) => isOwned(found, key, runId));
    return { writes: there.map((key) => ({ remove: key })), result: there };
  });
}

/** Goes on with what earlier prunes have left, at most `limit` runs; answers how many there were. */
export async function resumeRemains(runtime: Runtime, now: number, limit: number): Promise<number> {
  const store = await runtime.store();
  const found = await store.claim<Remains>(runtime.scope, REMAINS, { now, limit }, ({ key, head }) => {
    const lateUntil = typeof head.lateUntil === 'number' ? head.lateUntil : null;
    const result = { runId: String(head.runId), lateUntil };
    return { put: { key, head, due: now + REMAINS_MS }, result };
  });
  await settledEach(found, RESUMED_WIDTH, (remains) => clearedOrLeft(runtime, remains, now));
  return found.length;
}
