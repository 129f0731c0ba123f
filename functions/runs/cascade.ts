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

/** After the cancellation of a run. What fails is left to reconcile, which finds the record of the cascade due. */
export async function cascadeAfter(runtime: Runtime, parentId: string, now: number): Promise<void> {
  await afterWrite(runtime, 'The children of a cancelled run could not all be cancelled yet', () =>
    cancelChildren(runtime, parentId, now),
  );
}

/** Goes on with at most `limit` cascades that broke off. */
export async function resumeCascades(runtime: Runtime, now: number, limit: number): Promise<void> {
  const store = await runtime.store();
  const found = await store.claim<string>(runtime.scope, CHILDREN, { now, limit }, (record) => ({
    put: resumedCascade(record, now),
    result: String(record.head.runId),
  }));
  for (const parentId of found) await cascadeAfter(runtime, parentId, now);
}

async function cancelChildren(runtime: Runtime, parentId: string, now: number): Promise<void> {
  const store = await runtime.store();
  const key = cascadeKey(parentId);
  const { records } = await store.query(runtime.scope, { by: 'keys', keys: [{ key }] });
  const [cascade] = records;
  if (cascade === undefined) return;
  const active = { collection: CHILDREN, group: parentId, equal: { [CASCADE_INDEX]: 'active' }, limit: PAGE };
  // A child that ends leaves the list, and the list goes on after the last one of its page.
  for await (const page of listPages(store, runtime.scope, active)) {
    const ids = page.records.map(({ head }) => String(head.childId));
    const results = await settledEach(ids, WIDTH, (id) => cancelChild(runtime, id, now));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }
  // A later cancellation of the parent has written the record again, for children that it has started since.
  await store.transact(runtime.scope, { gate: key, keys: [{ key }], frees: true }, (found) => {
    const mine = found.get(key)?.head.version === cascade.head.version;
    return { writes: mine ? [{ remove: key }] : [], result: null };
  });
}

async function cancelChild(runtime: Runtime, runId: string, now: number): Promise<void> {
  const { run, cascades } = await changeRun(runtime, { runId, now, mayEnd: true }, (before, _, at) => ({
    change: before === undefined ? null : afterTime(before, at, runtime.options, (due) => cancelRun(due, at)),
    result: null,
  }));
  if (run?.status === 'running' && isBeingCancelled(run)) runtime.signalCancellation?.(run.id);
  if (cascades === true) await cancelChildren(runtime, runId, now);
}
