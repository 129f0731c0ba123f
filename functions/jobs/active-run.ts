import { RUN_GROUP, RUNS, readRun, tagIndex } from '../runs/records.ts';
import { isTerminal } from '../runs/run.ts';
import type { Runtime } from '../runs/runtime.ts';

/** Tag of a run that turns staged bytes into an object. Its value is the ticket of the bytes, so that upkeep finds the run. */
export const TICKET_TAG = 'svc.artifact.ticket';

/** Whether an active run has the tag with this value. Upkeep keeps the staged bytes of such a run. */
export async function hasActiveRun({ store, scope }: Runtime, tag: string, value: string): Promise<boolean> {
  const { records } = await (await store()).query(scope, {
    by: 'list',
    collection: RUNS,
    group: RUN_GROUP,
    equal: { [tagIndex(tag)]: value },
    limit: 1,
  });
  const [record] = records;
  return record !== undefined && !isTerminal(readRun(record).status);
}
