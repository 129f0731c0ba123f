import { describeFailure } from '../kernel/log.ts';
import { orderedIdBefore } from '../kernel/ordered-id.ts';
import { listPages } from '../store/pages.ts';
import type { RecordData } from '../store/port.ts';
import { countedBy, countersOf, incremented } from './active-runs.ts';
import { type IndexMark, isWhole, MARK, markOf, markRecord, readIndexState } from './index-mark.ts';
import type { RunLane } from './list-runs.ts';
import {
  productValue,
  RUN_GROUP,
  RUN_INDEX,
  RUNS,
  readRun,
  runKey,
  runRecord,
  scopeValue,
} from './records.ts';
import type { Run } from './run.ts';
import type { Runtime } from './runtime.ts';

/** Runs of a product, or of one tenant or one handler of it; `null` for every one. */
export interface RunPart {
  readonly productId: string;
  readonly tenantId: string | null;
  readonly handlerId: string | null;
}

/** Each lane costs a query, so a caller with more parts reads the runs of whole products. */
const LANES_MAX = 64;

/** The lanes that hold all runs of the parts; each run of the parts is in one of them. */
export function lanesOf(parts: readonly RunPart[]): readonly RunLane[] {
  const wanted = parts.length > LANES_MAX ? parts.map(wholeProduct) : parts.filter(isMaximal);
  const lanes = new Map(wanted.map((part) => [JSON.stringify(part), laneOf(part)]));
  return [...lanes.values()];
}

function wholeProduct({ productId }: RunPart): RunPart {
  return { productId, tenantId: null, handlerId: null };
}

/** Whether no other part contains it. */
export function isMaximal(part: RunPart, _: number, parts: readonly RunPart[]): boolean {
  const isWider = (each: RunPart) =>
    each.productId === part.productId &&
    covers(each.tenantId, part.tenantId) &&
    covers(each.handlerId, part.handlerId) &&
    (each.tenantId !== part.tenantId || each.handlerId !== part.handlerId);
  return !parts.some(isWider);
}

/** `null` selects all. */
function covers(one: string | null, other: string | null): boolean {
  return one === null || one === other;
}

function laneOf({ productId, tenantId, handlerId }: RunPart): RunLane {
  const scope =
    tenantId === null
      ? { [RUN_INDEX.product]: productValue(productId) }
      : { [RUN_INDEX.scope]: scopeValue({ productId, tenantId }) };
  return handlerId === null ? scope : { ...scope, [RUN_INDEX.handler]: handlerId };
}

const PAGE = 200;
/** The most runs that one list reads. */
const STEP_RUNS = 2_000;
/**
 * With the clocks of two servers, a run may be stored this long after the time in its id: the next pass starts that far
 * back.
 */
const LATE_MS = 120_000;

/**
 * Whether the index by scope has every run; until then a list reads the newest runs and checks each. Runs of releases before
 * 0.6.0 lack the index, and active ones their share: each call adds both to a bounded number of them, until the first pass is over.
 */
export function isIndexedByScope(runtime: Runtime, now: number): Promise<boolean> {
  return runtime.scopeIndex.isWhole(now, async () => {
    try {
      const state = await readIndexState(runtime);
      if (state.mark.done) return isWhole(state);
      let seen = 0;
      const isOver = (runs: number) => {
        seen += runs;
        return seen >= STEP_RUNS;
      };
      const done = await indexRuns(runtime, state.mark, { now, isOver });
      return isWhole({ ...state, mark: { ...state.mark, done } });
    } catch (error) {
      const message = 'Runs of an earlier release could not be indexed by scope';
      runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
      return false;
    }
  });
}

/**
 * Continues where the last pass ended, and adds index and share to runs that lack them. Returns whether it reached the
 * end; calls `isOver` after each page, with the number of its runs.
 */
export async function indexRuns(
  runtime: Runtime,
  { after }: Pick<IndexMark, 'after'>,
  { now, isOver }: { readonly now: number; readonly isOver: (runs: number) => boolean },
): Promise<boolean> {
  const store = await runtime.store();
  const sure = orderedIdBefore(now - LATE_MS);
  const pages = listPages(store, runtime.scope, {
    collection: RUNS,
    group: RUN_GROUP,
    limit: PAGE,
    ...(after === '' ? {} : { afterId: after }),
  });
  let last = after;
  let done = true;
  for await (const page of pages) {
    for (const record of page.records) await index(runtime, record);
    last = page.records.at(-1)?.listing?.id ?? last;
    done = page.next === null;
    if (!done && isOver(page.records.length)) break;
  }
  const reached = last > sure ? sure : last;
  await store.transact(runtime.scope, { gate: MARK, keys: [{ key: MARK }] }, (found) => {
    const mark = markOf(found.get(MARK));
    const furthest = reached > mark.after ? reached : mark.after;
    const put = markRecord({ ...mark, after: furthest, done: mark.done || done });
    return { writes: [{ put }], result: null };
  });
  return done;
}

async function index(runtime: Runtime, record: RecordData): Promise<void> {
  const seen = readRun(record);
  const isIndexed = seen.scope === null || record.listing?.indexes[RUN_INDEX.scope] !== undefined;
  if (isIndexed && !lacksShare(seen)) return;
  const key = runKey(seen.id);
  const shares = countersOf(runtime.options, seen).filter(({ isShare }) => isShare === true);
  const counters = shares.map((share) => ({ key: share.key }));
  const store = await runtime.store();
  const keys = [{ key, view: 'body' as const }, ...counters];
  await store.transact(runtime.scope, { gate: key, keys }, (found) => {
    const current = found.get(key);
    if (current === undefined) return { writes: [], result: null };
    const run = readRun(current, seen.id);
    if (shares.length === 0 || !lacksShare(run)) return { writes: [{ put: runRecord(run) }], result: null };
    const put = runRecord({ ...run, ...countedBy(shares) });
    return { writes: [{ put }, ...shares.map((share) => incremented(found, share))], result: null };
  });
}

/** Releases before 0.6.0 counted active runs in all only. */
function lacksShare({ scope, job, counted, sharesCounted }: Run): boolean {
  return scope !== null && job === undefined && counted && sharesCounted !== true;
}
