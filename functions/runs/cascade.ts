import { settledEach } from '../kernel/settled-each.ts';
import { listPages } from '../store/pages.ts';
import { afterWrite } from './announcements.ts';
import { changeRun } from './change-run.ts';
import { resumedCascade } from './child-link.ts';
import { CASCADE_INDEX, CHILDREN, cascadeKey } from './records.ts';
import { afterTime } from './rules/after-time.ts';
import { cancelRun } from './rules/cancel.ts';
import { isBeingCancelled } from './run.ts';
import type { Runtime } from './runtime.ts';

/** A cancellation of a run reaches the children that were started with `cancelWithParent`, and their children. */

/** Children that are cancelled in parallel. */
const WIDTH = 8;
const PAGE = 100;
/** Children that one call cancels, with theirs. The record of the cascade is due again for the others. */
const CHILDREN_AT_ONCE = 1_000;

/** After the cancellation of a run. What fails is left to reconcile, which finds the record of the cascade due. */
export async function cascadeAfter(
  runtime: Runtime,
  parentId: string,
  now: number,
  most = CHILDREN_AT_ONCE,
): Promise<void> {
  await afterWrite(runtime, 'The children of a cancelled run could not all be cancelled yet', () =>
    cancelChildren(runtime, parentId, now, { left: most }),
  );
}

/** The children that a call may still cancel. */
interface Room {
  left: number;
}

/** Goes on with at most `limit` cascades that broke off, or were too long for one call. */
export async function resumeCascades(
  runtime: Runtime,
  now: number,
  limit: number,
  most = CHILDREN_AT_ONCE,
): Promise<void> {
  const store = await runtime.store();
  const found = await store.claim<string>(runtime.scope, CHILDREN, { now, limit }, (record) => ({
    put: resumedCascade(record, now),
    result: String(record.head.runId),
  }));
  for (const parentId of found) await cascadeAfter(runtime, parentId, now, most);
}

async function cancelChildren(runtime: Runtime, parentId: string, now: number, room: Room): Promise<void> {
  const store = await runtime.store();
  const key = cascadeKey(parentId);
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key }] });
  const [cascade] = records;
  if (cascade === undefined) return;
  const active = { collection: CHILDREN, group: parentId, equal: { [CASCADE_INDEX]: 'active' }, limit: PAGE };
  // A child that ends leaves the list, and the list goes on after the last one of its page.
  for await (const page of listPages(store, runtime.scope, active)) {
    const ids = page.records.slice(0, room.left).map(({ head }) => String(head.childId));
    room.left -= ids.length;
    const results = await settledEach(ids, WIDTH, (id) => cancelChild(runtime, id, now, room));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    if (ids.length < page.records.length) return;
  }
  // A later cancellation of the parent has written the record again, for children that it has started since.
  await store.transact(runtime.scope, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const mine = found.get(key)?.head.version === cascade.head.version;
    return { writes: mine ? [{ remove: key }] : [], result: null };
  });
}

async function cancelChild(runtime: Runtime, runId: string, now: number, room: Room): Promise<void> {
  const { run, cascades } = await changeRun(runtime, { runId, now, mayEnd: true }, (before, _, at) => ({
    change: before === undefined ? null : afterTime(before, at, runtime.options, (due) => cancelRun(due, at)),
    result: null,
  }));
  if (run?.status === 'running' && isBeingCancelled(run)) runtime.signalCancellation?.(run.id);
  if (cascades === true) await cancelChildren(runtime, runId, now, room);
}
