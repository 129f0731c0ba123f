import { limits } from '../../../contracts/generated/limits.ts';
import type { RecordPage } from '../../store/port.ts';
import { ARTIFACTS_PREFIX } from '../artifact.ts';
import { RUN_GROUP, RUN_INDEX, RUNS, readRun } from '../records.ts';
import type { RunStatus } from '../run.ts';
import type { Runtime } from '../runtime.ts';
import { TERMINAL } from './prune.ts';

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
  /** Runs with large artifacts, and how many these are; `null` where they are too many to be counted, or nowhere. */
  readonly bytes: { readonly directories: number; readonly files: number } | null;
}

/** Nothing counts runs, so they are looked at, up to a bound for each status. */
export async function whatIsKept(runtime: Runtime): Promise<Kept> {
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
  let rows = NO_ROWS;
  let after: string | null = null;
  do {
    const page: RecordPage = await store.query(runtime.scope, {
      by: 'list',
      collection: RUNS,
      group: RUN_GROUP,
      equal: { [RUN_INDEX.status]: status },
      direction: 'descending',
      limit: Math.min(PAGE, limits.executionMaintenanceScanMax - rows.runs),
      ...(after === null ? {} : { after }),
    });
    for (const record of page.records) {
      const { traced, traceDropped, artifacts, inbox, wait } = readRun(record);
      const events = traced - traceDropped;
      rows = plus(rows, {
        runs: 1,
        events,
        artifacts,
        externalEvents: inbox.length,
        waits: wait === null ? 0 : 1,
      });
    }
    after = page.next;
  } while (after !== null && rows.runs < limits.executionMaintenanceScanMax);
  return rows;
}

async function countBytes({ blobs: open }: Runtime): Promise<Kept['bytes']> {
  if (open === null) return null;
  const blobs = await open();
  const folders = new Set<string>();
  let files = 0;
  let after: string | undefined;
  do {
    const page = await blobs.list(ARTIFACTS_PREFIX, {
      limit: BLOB_PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const key of page.keys) folders.add(key.slice(0, key.lastIndexOf('/')));
    files += page.keys.length;
    if (files > limits.executionMaintenanceScanMax) return null;
    after = page.next ?? undefined;
  } while (after !== undefined);
  return { directories: folders.size, files };
}
