import { orderedIdBefore } from '../kernel/ordered-id.ts';
import { listPages, recordsOf } from '../store/pages.ts';
import type { RecordPage } from '../store/port.ts';
import { findRun } from './read-runs.ts';
import { keyHashOf, RUN_GROUP, RUN_INDEX, RUNS, readRun, tagIndex } from './records.ts';
import type { Run, RunStatus } from './run.ts';
import type { Runtime } from './runtime.ts';

export interface RunFilter {
  readonly handlerId: string | null;
  readonly handlerVersion: string | null;
  readonly pluginId: string | null;
  readonly status: RunStatus | null;
  readonly correlationId: string | null;
  readonly idempotencyKey: string | null;
  /** Bounds are inclusive. */
  readonly createdAfter: number | null;
  readonly createdBefore: number | null;
  readonly updatedAfter: number | null;
  readonly updatedBefore: number | null;
  readonly tags: Readonly<Record<string, string>>;
}

/** Index values that the runs of one part of a list have in common. */
export type RunLane = Readonly<Record<string, string>>;

export interface RunListRequest {
  readonly filter: RunFilter;
  readonly limit: number;
  /** The parts of which the list consists. Runs outside of them are not read. */
  readonly lanes: readonly RunLane[];
  /** Whether the caller may see a run of the lanes. */
  readonly visible: (run: Run) => boolean;
  /** The list starts after this run id; `null` starts with the newest. */
  readonly afterId: string | null;
}

export interface RunPage {
  readonly runs: readonly Run[];
  /** The run id after which the next page begins; `null` after the last page. */
  readonly next: string | null;
  /** The page is shorter than its limit, although more runs may follow. */
  readonly cut: boolean;
}

/** Runs that one list reads at most: it bounds the cost of a filter that hardly any run matches. */
const SCANNED_MAX = 20_000;
const PAGE = 200;

/**
 * Lists runs by id, newest first. Indexes answer equality filters and lanes. Times and `visible` are checked run by run, so
 * such a page reads 20,000 runs at most and then names the run after which the next page begins.
 */
export async function listRuns(runtime: Runtime, request: RunListRequest): Promise<RunPage> {
  const { filter, limit, visible, afterId } = request;
  const found: Run[] = [];
  // A later run has a larger id, and no run is older than the time in its id.
  const oldest = filter.createdAfter === null ? '' : orderedIdBefore(filter.createdAfter);
  let last = afterId;
  let scanned = 0;
  for await (const run of newestFirst(await sourcesOf(runtime, request))) {
    if (run.id < oldest) break;
    const full = found.length === limit;
    if (full || scanned === SCANNED_MAX) return { runs: found, next: last, cut: !full };
    if (matches(run, filter) && visible(run)) found.push(run);
    last = run.id;
    scanned += 1;
  }
  return { runs: found, next: null, cut: false };
}

async function sourcesOf(
  runtime: Runtime,
  { filter, limit, lanes, afterId }: RunListRequest,
): Promise<AsyncIterator<Run, undefined>[]> {
  const equal = equalities(filter);
  const pageSize = isIndexed(filter) ? Math.min(PAGE, limit + 1) : PAGE;
  const store = await runtime.store();
  const pagesOf = (lane: RunLane) =>
    listPages(store, runtime.scope, {
      collection: RUNS,
      group: RUN_GROUP,
      equal: { ...lane, ...equal },
      direction: 'descending',
      limit: pageSize,
      ...(afterId === null ? {} : { afterId }),
    });
  const own = filter.correlationId === null ? undefined : await findRun(runtime, filter.correlationId);
  // A run without a correlation id has its own id as one, which the index does not contain.
  const isOwn = own !== undefined && own.correlationId === own.id && (afterId === null || own.id < afterId);
  const sources = lanes.filter((lane) => agrees(lane, equal)).map((lane) => runsIn(pagesOf(lane)));
  return isOwn ? [...sources, onlyRun(own)] : sources;
}

async function* runsIn(pages: AsyncIterable<RecordPage>): AsyncGenerator<Run, undefined, undefined> {
  for await (const record of recordsOf(pages)) yield readRun(record);
}

async function* onlyRun(run: Run): AsyncGenerator<Run, undefined, undefined> {
  yield run;
}

/** A lane whose value differs from that of the filter has no run of the list. */
function agrees(lane: RunLane, equal: RunLane): boolean {
  return Object.entries(lane).every(([name, value]) => (equal[name] ?? value) === value);
}

/** Merges sources that are sorted by id, newest first. A run of several sources occurs once. */
async function* newestFirst(
  sources: readonly AsyncIterator<Run, undefined>[],
): AsyncGenerator<Run, undefined, undefined> {
  const parts = await Promise.all(sources.map(async (runs) => ({ runs, head: (await runs.next()).value })));
  let last = '';
  for (;;) {
    let newest: (typeof parts)[number] | undefined;
    for (const part of parts) {
      if (part.head !== undefined && (newest?.head === undefined || part.head.id > newest.head.id))
        newest = part;
    }
    if (newest?.head === undefined) return;
    if (newest.head.id !== last) yield newest.head;
    last = newest.head.id;
    newest.head = (await newest.runs.next()).value;
  }
}

function isIndexed({ createdAfter, createdBefore, updatedAfter, updatedBefore }: RunFilter): boolean {
  return [createdAfter, createdBefore, updatedAfter, updatedBefore].every((moment) => moment === null);
}

function equalities(filter: RunFilter): Record<string, string> {
  const equal: Record<string, string> = {};
  if (filter.handlerId !== null) equal[RUN_INDEX.handler] = filter.handlerId;
  if (filter.handlerVersion !== null) equal[RUN_INDEX.handlerVersion] = filter.handlerVersion;
  if (filter.pluginId !== null) equal[RUN_INDEX.plugin] = filter.pluginId;
  if (filter.status !== null) equal[RUN_INDEX.status] = filter.status;
  if (filter.correlationId !== null) equal[RUN_INDEX.correlation] = filter.correlationId;
  if (filter.idempotencyKey !== null) equal[RUN_INDEX.key] = keyHashOf(filter.idempotencyKey);
  for (const [name, value] of Object.entries(filter.tags)) equal[tagIndex(name)] = value;
  return equal;
}

function matches(run: Run, filter: RunFilter): boolean {
  const { handlerId, handlerVersion, pluginId, status, correlationId, tags } = filter;
  return (
    (correlationId === null || run.correlationId === correlationId) &&
    (filter.idempotencyKey === null || run.keyHash === keyHashOf(filter.idempotencyKey)) &&
    (handlerId === null || run.handlerId === handlerId) &&
    (handlerVersion === null || run.handlerVersion === handlerVersion) &&
    (pluginId === null || run.pluginId === pluginId) &&
    (status === null || run.status === status) &&
    (filter.createdAfter === null || run.createdAt >= filter.createdAfter) &&
    (filter.createdBefore === null || run.createdAt <= filter.createdBefore) &&
    (filter.updatedAfter === null || run.updatedAt >= filter.updatedAfter) &&
    (filter.updatedBefore === null || run.updatedAt <= filter.updatedBefore) &&
    Object.entries(tags).every(([name, value]) => run.tags[name] === value)
  );
}
