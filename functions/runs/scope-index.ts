import { describeFailure } from '../kernel/log.ts';
import { listPages } from '../store/pages.ts';
import type { RecordData, RecordKey } from '../store/port.ts';
import { recordId } from '../store/record-id.ts';
import { countedBy, countersOf, incremented } from './active-runs.ts';
import type { RunLane } from './list-runs.ts';
import {
  COUNTERS,
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

/** `null` stands for every one. */
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
/** Runs that one call looks at. */
const STEP_RUNS = 2_000;

/** How far the runs of earlier releases are indexed. */
const MARK: RecordKey = { collection: COUNTERS.name, id: recordId('scope-index') };

/**
 * Whether the index by scope has every run; until then a list reads the newest runs and checks each. Runs of releases before
 * 0.6.0 lack the index, and active ones their share: each call adds both to a bounded number of them, and the store remembers how far the calls are.
 */
export function isIndexedByScope(runtime: Runtime): Promise<boolean> {
  return runtime.scopeIndex.isComplete(() =>
    step(runtime).catch((error: unknown) => {
      const message = 'Runs of an earlier release could not be indexed by scope';
      runtime.log({ severity: 'WARNING', message, failure: describeFailure(error) });
      return false;
    }),
  );
}

async function step(runtime: Runtime): Promise<boolean> {
  const store = await runtime.store();
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key: MARK }] });
  const mark = records[0]?.head;
  if (mark?.done === true) return true;
  const after = typeof mark?.after === 'string' ? { afterId: mark.after } : {};
  const pages = listPages(store, runtime.scope, {
    collection: RUNS,
    group: RUN_GROUP,
    limit: PAGE,
    ...after,
  });
  let last = mark?.after ?? '';
  let seen = 0;
  let done = true;
  for await (const page of pages) {
    for (const record of page.records) await index(runtime, record);
    last = page.records.at(-1)?.listing?.id ?? last;
    seen += page.records.length;
    done = page.next === null;
    if (seen >= STEP_RUNS) break;
  }
  await store.transact(runtime.scope, { gate: MARK, keys: [{ key: MARK }] }, () => ({
    writes: [{ put: { key: MARK, head: { after: last, done } } }],
    result: null,
  }));
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
