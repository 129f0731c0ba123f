import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRecordParts, type RecordParts } from '../../functions/collections/parts.ts';
import { createCollection } from '../../functions/collections/pointers.ts';
import { queryRecords } from '../../functions/collections/query-records.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { deleteRecord, upsertRecord } from '../../functions/collections/write-records.ts';
import { TurnRoom } from '../../functions/kernel/turn-room.ts';
import type { World } from '../../functions/kernel/world.ts';
import type { RecordStore } from '../../functions/store/port.ts';

const SPACE = 'default';
const NAME = 'documents';
const textOf = (id: string) => JSON.stringify({ id, partitionKey: 'p', metadata: { kind: 'a' } });

/** A store behind a proxy that counts its round trips. */
export interface CountedStore {
  readonly store: RecordStore;
  readonly world: Omit<World, 'http' | 'turns'>;
  /** Round trips until now. */
  readonly turns: () => number;
  /** Closes the store and the database below it. */
  readonly close: () => Promise<void>;
}

/** The round trips of records to a database of one connection. `queryTurns`: those of a query with an indexed equality. */
export function testRecordRoundTrips(open: () => Promise<CountedStore>, queryTurns: readonly number[]): void {
  let counted: CountedStore;
  let parts: RecordParts;

  beforeAll(async () => {
    counted = await open();
    const turns = new TurnRoom(counted.world.clock);
    const world = { ...counted.world, turns, http: () => Promise.reject(new Error('none is called')) };
    const limits = { readsPerCallMax: 5_000, pageRecordsMax: 100, answerBytesMax: 4_000_000 };
    parts = createRecordParts({ store: () => Promise.resolve(counted.store), world, limits });
    await createCollection(parts, SPACE, readPolicy({ name: NAME, indexedMetadata: ['/metadata/kind'] }));
  });
  afterAll(() => counted.close());

  async function turnsOf(call: () => Promise<unknown>): Promise<number> {
    await counted.store.ping();
    const before = counted.turns();
    await call();
    return counted.turns() - before;
  }

  test('are as many for a hundred records as for one', async () => {
    const items = Array.from({ length: 100 }, (_, n) => ({ text: textOf(`r${n}`) }));
    const chunk = () => writeChunk(parts, SPACE, { name: NAME }, items, { continueOnError: false });
    const key = { partitionKey: 'p', id: 'r1' };
    const filter = { path: '/metadata/kind', op: 'eq', value: 'a' };
    const query = () => queryRecords(parts, SPACE, NAME, { filter, limit: 50 });
    const turns = {
      chunk: await turnsOf(chunk),
      upsert: await turnsOf(() => upsertRecord(parts, SPACE, NAME, textOf('r1'), null)),
      get: await turnsOf(() => getRecord(parts, SPACE, NAME, key)),
      remove: await turnsOf(() => deleteRecord(parts, SPACE, NAME, key)),
    };
    expect(turns).toEqual({ chunk: 2, upsert: 2, get: 1, remove: 2 });
    expect((await query()).records).toHaveLength(50);
    expect(queryTurns).toContain(await turnsOf(query));
  });
}
