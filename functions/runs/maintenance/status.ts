import { limits } from '../../../contracts/generated/limits.ts';
import { listPages, recordsOf, walkPages } from '../../store/pages.ts';
import { ARTIFACTS_PREFIX } from '../artifact.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../records.ts';
import type { RunStatus } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { TERMINAL } from './terminal-runs.ts';

const STATUSES: readonly RunStatus[] = ['queued', 'running', 'waiting', ...TERMINAL];
const PAGE = 200;
const BLOB_PAGE = 1_000;

interface Rows {
  readonly runs: number;
  readonly events: number;
  readonly artifacts: number;
  readonly externalEvents: number;
  readonly waits: number;
}

export interface Kept {
  readonly runCounts: Readonly<Record<RunStatus, number>>;
  readonly rowCounts: Rows;
  /** Runs with large artifacts, and the number of these; `null` without a blob store or if they are too many to count. */
  readonly bytes: { readonly directories: number; readonly files: number } | null;
}

/** Counts runs by reading them, up to a bound for each status: the store keeps no counts. */
export async function countKept(runtime: Runtime): Promise<Kept> {
  const [bytes, ...rows] = await Promise.all([
    countBytes(runtime),
    ...STATUSES.map((status) => countStatus(runtime, status)),
  ]);
  const runCounts = Object.fromEntries(STATUSES.map((status, at) => [status, rows[at]?.runs ?? 0]));
  return { runCounts: runCounts as Record<RunStatus, number>, rowCounts: rows.reduce(plus, NO_ROWS), bytes };
}

const NO_ROWS: Rows = { runs: 0, events: 0, artifacts: 0, externalEvents: 0, waits: 0 };

function plus(one: Rows, other: Rows): Rows {
  return {
    runs: one.runs + other.runs,
    events: one.events + other.events,
    artifacts: one.artifacts + other.artifacts,
    externalEvents: one.externalEvents + other.externalEvents,
    waits: one.waits + other.waits,
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
    const { traced, traceDropped, artifacts, inbox, wait } = readRun(record);
    const events = traced - traceDropped;
    const waits = wait === null ? 0 : 1;
    rows = plus(rows, { runs: 1, events, artifacts, externalEvents: inbox.length, waits });
    if (rows.runs >= limits.executionMaintenanceScanMax) break;
  }
  return rows;
}

async function countBytes({ blobs: open }: Runtime): Promise<Kept['bytes']> {
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
  return { directories: folders.size, files };
}
