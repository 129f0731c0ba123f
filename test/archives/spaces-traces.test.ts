import { expect, test } from 'vitest';
import { exportSpace } from '../../functions/collections/copies/export-space.ts';
import { restoreSpace } from '../../functions/collections/copies/restore-space.ts';
import { getTrace, listTraces } from '../../functions/traces/read-traces.ts';
import { summarizeTraces } from '../../functions/traces/summarize-traces.ts';
import { TracesStage } from '../conformance/traces-stage.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { Objects } from './objects.ts';
import { fill, richSpace, SPACE } from './spaces.ts';

test('an archive of a space leaves its traces out, and a restore removes those of the space alone', async () => {
  const store = new MemoryStore(new MemoryDatabase());
  await fill(store, SPACE, richSpace('one').carried);
  const [own, other] = [new TracesStage(store, {}, SPACE), new TracesStage(store)];
  await own.write();
  const kept = await other.write();
  const objects = new Objects();
  const manifest = await exportSpace(store, SPACE, objects);
  expect(Object.keys(manifest.counts)).toEqual(['policies', 'records']);

  await restoreSpace(store, objects, SPACE, { replace: true });
  expect(await listTraces(own.parts, SPACE, { operation: null, limit: 10 })).toEqual({
    traces: [],
    leftOut: null,
  });
  expect(await summarizeTraces(own.parts, SPACE, null)).toMatchObject({ totalCount: 0, operations: [] });
  expect(await getTrace(other.parts, other.space, kept)).not.toBeNull();
});
