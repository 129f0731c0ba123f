import { RUN_GROUP, RUNS, readRun, tagIndex } from '../runs/records.ts';
import { isTerminal } from '../runs/run.ts';
import type { Runtime } from '../runs/runtime.ts';

/** Tag of a run that makes an object of staged bytes, by the ticket of those. Upkeep finds the run by it. */
export const TICKET_TAG = 'svc.artifact.ticket';

/** Whether a run that is not over has the tag with this value: upkeep leaves the bytes that the value names. */
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
