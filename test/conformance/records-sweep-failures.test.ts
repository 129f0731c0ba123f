import { expect, test } from 'vitest';
import { createRecordParts } from '../../functions/collections/parts.ts';
import { createCollection, removeCollection } from '../../functions/collections/pointers.ts';
import { sweepRetired } from '../../functions/collections/retired.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { type RecordStore, StoreError } from '../../functions/store/port.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { RecordsStage, recordsOf } from '../support/records-stage.ts';

test('a retired collection that cannot be swept does not stop the others', async () => {
  const store = new MemoryStore(new MemoryDatabase());
  const stage = new RecordsStage(store);
  const { records: parts } = stage.records();
  const views: unknown[] = [];
  const query = (async (scope, selection) => {
    if (scope.name === 'broken') throw new StoreError('corrupt', 'cannot be read');
    if (selection.by === 'list') views.push(selection.view);
    return store.query(scope, selection as never) as never;
  }) as RecordStore['query'];
  const failing = new Proxy<RecordStore>(store, {
    get: (target, name) => {
      if (name === 'query') return query;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  for (const space of ['broken', 'whole']) {
    await createCollection(parts, space, readPolicy({ name: 'c' }));
    const items = recordsOf(3).map((each) => ({ text: JSON.stringify(each) }));
    await writeChunk(parts, space, { name: 'c' }, items, { continueOnError: false });
    await removeCollection(parts, space, 'c');
    stage.time.now += 1_000;
  }
  const sweep = { isOver: () => false, isRunActive: () => Promise.resolve(false) };
  const later = {
    ...stage.world,
    clock: { ...stage.world.clock, now: () => stage.world.clock.now() + 3_600_000 },
  };
  const { limits } = parts;
  const swept = createRecordParts({ store: () => Promise.resolve(failing), world: later, limits });
  await expect(sweepRetired(swept, sweep)).rejects.toMatchObject({ failure: 'corrupt' });
  expect(views).toEqual(['head', 'head']);
});
