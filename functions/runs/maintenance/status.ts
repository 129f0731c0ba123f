import { limits } from '../../../contracts/generated/limits.ts';
import { listPages, recordsOf, walkPages } from '../../store/pages.ts';
import type { Collection } from '../../store/port.ts';
import { ARTIFACTS_PREFIX, readArtifact } from '../artifact.ts';
import { ARTIFACTS, CHECKPOINTS, LEASES, RUN_GROUP, RUN_INDEX, RUNS, readRun, TIMERS } from '../records.ts';
import type { Run, RunStatus } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { TERMINAL } from './terminal-runs.ts';

const STATUSES: readonly RunStatus[] = ['queued', 'running', 'waiting', ...TERMINAL];
const PAGE = 200;
const BLOB_PAGE = 1_000;

const OWNED_PAGE = 50;
/** Text that one count reads. */
const OWNED_CHARACTERS_MAX = 64 * 1024 * 1024;

interface Rows {
  readonly runs: number;
  readonly events: number;
  readonly artifacts: number;
  readonly externalEvents: number;
  readonly waits: number;
  readonly waitOutcomes: number;
  readonly externalEventConsumptions: number;
}

/** Records beside the runs. */
interface OwnedRows {
  readonly checkpoints: number;
  readonly leases: number;
  readonly timers: number;
}

export interface Kept {
  readonly runCounts: Readonly<Record<RunStatus, number>>;
  readonly rowCounts: Rows & OwnedRows;
  /** Runs with large artifacts, and the number and size of these; `null` without a blob store or if they are too many to count. */
  readonly bytes: {
    readonly directories: number;
    readonly files: number;
    readonly size: number | null;
  } | null;
}

/** Counts runs by reading them, up to a bound for each status: the store keeps no counts. */
export async function countKept(runtime: Runtime): Promise<Kept> {
  const [bytes, owned, ...rows] = await Promise.all([
    countBytes(runtime),
    countOwned(runtime),
    ...STATUSES.map((status) => countStatus(runtime, status)),
  ]);
  const runCounts = Object.fromEntries(STATUSES.map((status, at) => [status, rows[at]?.runs ?? 0]));
  const rowCounts = { ...rows.reduce(plus, NO_ROWS), ...owned };
  return { runCounts: runCounts as Record<RunStatus, number>, rowCounts, bytes };
}

const NO_ROWS: Rows = {
  runs: 0,
  events: 0,
  artifacts: 0,
  externalEvents: 0,
  waits: 0,
  waitOutcomes: 0,
  externalEventConsumptions: 0,
};

function plus(one: Rows, other: Rows): Rows {
  return {
    runs: one.runs + other.runs,
    events: one.events + other.events,
    artifacts: one.artifacts + other.artifacts,
    externalEvents: one.externalEvents + other.externalEvents,
    waits: one.waits + other.waits,
    waitOutcomes: one.waitOutcomes + other.waitOutcomes,
    externalEventConsumptions: one.externalEventConsumptions + other.externalEventConsumptions,
  };
}

async function countStatus(runtime: Runtime, status: RunStatus): Promise<Rows> {
  const store = await runtime.store();
  const selection = {
    collection: RUNS,
    group: RUN_GROUP,
    equal: { [RUN_INDEX.status]: status },
    direction: 'descending',
    limit: PAGE,
  } as const;
  let rows = NO_ROWS;
  for await (const record of recordsOf(listPages(store, runtime.scope, selection))) {
    rows = plus(rows, rowsOf(readRun(record)));
    if (rows.runs >= limits.executionMaintenanceScanMax) break;
  }
  return rows;
}

function rowsOf({ traced, traceDropped, artifacts, inbox, wait, outcomes, taken }: Run): Rows {
  // The outcome that the holder received last is kept until it has used it.
  const kept = taken === null ? outcomes : [...outcomes, taken];
  return {
    runs: 1,
    events: traced - traceDropped,
    artifacts,
    externalEvents: inbox.length,
    waits: wait === null ? 0 : 1,
    waitOutcomes: kept.length,
    externalEventConsumptions: kept.filter(({ event }) => event !== null).length,
  };
}

async function countOwned(runtime: Runtime): Promise<OwnedRows> {
  const [checkpoints, leases, timers] = await Promise.all(
    [CHECKPOINTS, LEASES, TIMERS].map((collection) => countRecords(runtime, collection)),
  );
  return { checkpoints: checkpoints ?? 0, leases: leases ?? 0, timers: timers ?? 0 };
}

/** Counts by reading, up to a bound for number and size: a checkpoint may be large. */
async function countRecords(runtime: Runtime, collection: Collection): Promise<number> {
  const store = await runtime.store();
  let records = 0;
  let characters = 0;
  for await (const { body } of recordsOf(
    listPages(store, runtime.scope, { collection, limit: OWNED_PAGE }),
  )) {
    records += 1;
    characters += body?.length ?? 0;
    if (records >= limits.executionMaintenanceScanMax || characters >= OWNED_CHARACTERS_MAX) break;
  }
  return records;
}

/** Size of the artifacts in the blob store; `null` when they are too many to read. */
async function sizeOfArtifacts(runtime: Runtime): Promise<number | null> {
  const store = await runtime.store();
  let size = 0;
  let records = 0;
  let characters = 0;
  for await (const record of recordsOf(
    listPages(store, runtime.scope, { collection: ARTIFACTS, limit: OWNED_PAGE }),
  )) {
    const { text, content, sizeBytes } = readArtifact(record);
    if (text === null && content === null && sizeBytes > runtime.options.artifactInlineBytesMax)
      size += sizeBytes;
    records += 1;
    characters += record.body?.length ?? 0;
    if (records >= limits.executionMaintenanceScanMax || characters >= OWNED_CHARACTERS_MAX) return null;
  }
  return size;
}

async function countBytes(runtime: Runtime): Promise<Kept['bytes']> {
  const { blobs: open } = runtime;
  if (open === null) return null;
  const blobs = await open();
  const folders = new Set<string>();
  let files = 0;
  const pages = walkPages((after) => blobs.list(ARTIFACTS_PREFIX, { limit: BLOB_PAGE, ...after }));
  for await (const { keys } of pages) {
    for (const key of keys) folders.add(key.slice(0, key.lastIndexOf('/')));
    files += keys.length;
    if (files > limits.executionMaintenanceScanMax) return null;
  }
  return { directories: folders.size, files, size: files === 0 ? 0 : await sizeOfArtifacts(runtime) };
}
