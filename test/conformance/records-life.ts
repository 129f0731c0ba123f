import { describe, expect, test } from 'vitest';
import { removeCollection, replaceCollection } from '../../functions/collections/pointers.ts';
import { listCollectionNames, readCollection } from '../../functions/collections/read-policy.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { incarnationOf } from '../../functions/collections/rules/incarnation.ts';
import { writeChunk } from '../../functions/collections/write-chunk.ts';
import { deleteRecord, upsertRecord } from '../../functions/collections/write-records.ts';
import { type RecordsConformance, RecordsStage } from './records-stage.ts';

const absent = (name: string) => ({
  code: 'collection_not_found',
  message: `Collection '${name}' does not exist.`,
});
const key = { partitionKey: 'p', id: '1' };

/** Writes, reads and deletes of records, alone and against calls that move the name of their collection. */
export function describeRecordLife({ store, rivals }: RecordsConformance): void {
  describe('a record', () => {
    test('keeps the order of its members and the spelling of its numbers', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const text =
        '{ "z": 1.50, "10": [1e2, {"2": 0, "1": -0}], "id": "1",\n "metadata": {"b": "\\u00e9\\u0000", "1": 1.0}, "partitionKey": "p" }';
      const { json } = await stage.put('notes', text);
      expect(json).toBe(
        '{"z":1.50,"10":[1e2,{"2":0,"1":-0}],"id":"1","metadata":{"b":"\\u00e9\\u0000","1":1.0},"partitionKey":"p",' +
          '"type":"","schemaVersion":null,"content":null,"sources":null,"vectors":null,' +
          '"etag":"rev:1","revision":1,"createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z"}',
      );
      expect(await getRecord(stage.parts, stage.space, 'notes', key)).toEqual({ json, etag: 'rev:1' });
    });

    test('counts revisions, keeps the time of its creation, and restarts after a deletion', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const given = {
        ...key,
        revision: 7,
        etag: 'rev:7',
        updatedAt: '2000-01-01T00:00:00Z',
        createdAt: '2001-02-03T04:05:06.7+01:00',
      };
      expect((await stage.put('notes', given)).stamp).toMatchObject({
        revision: 1,
        createdAt: '2001-02-03T03:05:06.700Z',
      });
      stage.world.advance(1_000);
      const again = await stage.put('notes', { ...given, createdAt: null });
      expect(again.stamp).toEqual({
        revision: 2,
        etag: 'rev:2',
        createdAt: '2001-02-03T03:05:06.700Z',
        updatedAt: '2026-01-01T00:00:01.000Z',
      });
      for (let times = 0; times < 2; times += 1) await deleteRecord(stage.parts, stage.space, 'notes', key);
      expect(await getRecord(stage.parts, stage.space, 'notes', key)).toBeNull();
      expect((await stage.put('notes', key)).stamp.revision).toBe(1);
    });

    test('is deleted at the etag that the caller has read alone', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const remove = (ifMatch: string) => deleteRecord(stage.parts, stage.space, 'notes', key, { ifMatch });
      const failed = { code: 'precondition_failed' };
      await expect(remove('*')).rejects.toMatchObject(failed);
      const write = async () => void (await stage.put('notes', key));
      await write();
      await write();
      await expect(remove('"rev:1"')).rejects.toMatchObject(failed);
      expect(await getRecord(stage.parts, stage.space, 'notes', key)).toMatchObject({ etag: 'rev:2' });
      // With a deletion and writes at once, either the deletion came first, or it has removed nothing.
      const [deleted] = await Promise.allSettled([
        remove('"rev:2"'),
        ...Array.from({ length: rivals }, write),
      ]);
      const left = await getRecord(stage.parts, stage.space, 'notes', key);
      if (deleted.status === 'rejected') expect(deleted.reason).toMatchObject(failed);
      expect(left?.etag).toBe(`rev:${deleted.status === 'rejected' ? rivals + 2 : rivals}`);
    });

    test('is written by one of many rivals with the same condition', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const write = () =>
        upsertRecord(stage.parts, stage.space, 'notes', JSON.stringify(key), { ifNoneMatch: '*' });
      const outcomes = await Promise.allSettled(Array.from({ length: rivals }, write));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const [refused] = outcomes.flatMap((each) =>
        each.status === 'rejected' ? [each.reason as unknown] : [],
      );
      expect(refused).toMatchObject({
        code: 'precondition_failed',
        message: expect.stringContaining('precondition failed'),
      });
    });

    test('has vectors of float32, with the shortest decimals', async () => {
      const stage = new RecordsStage(store());
      const vectorPolicies = [{ name: '1', path: '/vectors/1/values', dimensions: 4 }];
      await stage.create({ name: 'notes', vectorPolicies });
      const text = '{"id":"1","partitionKey":"p","vectors":{"1":{"values":[0.1,0.333333333333,-0,1e10]}}}';
      const { json } = await stage.put('notes', text);
      expect(json).toContain(
        '"vectors":{"1":{"values":[0.1,0.33333334,-0,1E+10],"dimensions":4,"model":null,',
      );
      const wrong = stage.put('notes', { ...key, vectors: { 1: { values: [1] } } });
      await expect(wrong).rejects.toMatchObject({
        extensions: { errors: [{ pointer: '/vectors/1/values' }] },
      });
    });

    test('of a collection that does not exist is refused, and its deletion has no effect', async () => {
      const { parts, space, ...stage } = new RecordsStage(store());
      await expect(upsertRecord(parts, space, 'no', JSON.stringify(key), null)).rejects.toMatchObject(
        absent('no'),
      );
      await expect(getRecord(parts, space, 'no', key)).rejects.toMatchObject(absent('no'));
      await deleteRecord(parts, space, 'no', key);
      expect(await listCollectionNames(parts, space)).toEqual([]);
      expect(stage).toBeDefined();
    });
  });

  describe('a collection that moves under its writers', () => {
    test('is found by a process that has the earlier one in its memory', async () => {
      const stage = new RecordsStage(store());
      const other = new RecordsStage(store(), {}, stage.space);
      const created = await stage.create({ name: 'notes' });
      await stage.put('notes', { ...key, content: { of: 'the first' } });
      expect(await getRecord(other.parts, other.space, 'notes', key)).not.toBeNull();
      const next = { ...created, incarnation: incarnationOf(Buffer.alloc(16, 7)) };
      const vectorPolicies = [
        {
          name: 'v',
          path: '/vectors/v/values',
          dimensions: 1,
          datatype: 'float32',
          distanceFunction: 'cosine',
          indexType: 'flat',
        },
      ];
      await replaceCollection(stage.parts, stage.space, {
        ...next,
        policy: { ...created.policy, vectorPolicies },
      });
      expect(await getRecord(other.parts, other.space, 'notes', key)).toBeNull();
      // The policy that the process knew has no such vector.
      other.parts.incarnations.set(other.space, 'notes', created);
      const { json } = await other.put('notes', { ...key, vectors: { v: { values: [1] } } });
      expect(json).toContain('"rev:1"');
      await removeCollection(stage.parts, stage.space, 'notes');
      await expect(other.put('notes', key)).rejects.toMatchObject(absent('notes'));
      expect(await readCollection(other.parts, other.space, 'notes')).toBeNull();
    });

    test('is never half written: a confirmed write is complete, or was removed with its collection', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const processes = Array.from({ length: 3 }, () => new RecordsStage(store(), {}, stage.space));
      for (const each of processes) await readCollection(each.parts, each.space, 'notes');
      const items = ['1', '2', '3'].map((id) => ({ text: JSON.stringify({ partitionKey: 'p', id }) }));
      const writers = processes.map(({ parts, space }) =>
        writeChunk(parts, space, { name: 'notes' }, items, { continueOnError: true }),
      );
      const [, ...outcomes] = await Promise.allSettled([
        removeCollection(stage.parts, stage.space, 'notes'),
        ...writers,
      ]);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(absent('notes'));
        else expect(outcome.value).toHaveLength(3);
      }
      await stage.create({ name: 'notes' });
      expect(await getRecord(stage.parts, stage.space, 'notes', key)).toBeNull();
    });
  });

  describe('a chunk', () => {
    test('has an outcome for each item, and keeps those before a failed one', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const items = [
        { text: '{"id":"1","partitionKey":"p"}' },
        { text: '{"id":"1","partitionKey":"p"}', precondition: { expectedRevision: 1 } },
        { text: '{"id":"a/b","partitionKey":"p"}' },
        { text: '{"id":"2","partitionKey":"p"}', precondition: { ifMatch: '*' } },
        { text: '{"id":"3","partitionKey":"p"}' },
      ];
      const write = (continueOnError: boolean) =>
        writeChunk(stage.parts, stage.space, { name: 'notes' }, items, { continueOnError });
      expect(await write(false)).toEqual([
        { key, outcome: { etag: 'rev:1', revision: 1 } },
        { key, outcome: { etag: 'rev:2', revision: 2 } },
        { key: { id: 'a/b', partitionKey: 'p' }, outcome: { error: '/id: must not hold any of / \\ ? #' } },
      ]);
      const all = await write(true);
      expect(all.map(({ outcome }) => ('error' in outcome ? 'failed' : outcome.revision))).toEqual([
        3,
        'failed',
        'failed',
        'failed',
        1,
      ]);
      expect(
        await getRecord(stage.parts, stage.space, 'notes', { partitionKey: 'p', id: '3' }),
      ).not.toBeNull();
    });

    test('writes nothing twice, because its ledger is in its transaction', async () => {
      const stage = new RecordsStage(store());
      await stage.create({ name: 'notes' });
      const place = { collection: 'import-progress', id: '0'.repeat(32) };
      const write = () =>
        writeChunk(stage.parts, stage.space, { name: 'notes' }, [{ text: JSON.stringify(key) }], {
          continueOnError: false,
          ledger: {
            keys: [{ key: place }],
            recorded: (found) => (found.get(place) === undefined ? null : []),
            writes: () => [{ put: { key: place, head: { next: 1 }, body: null, listing: null } }],
          },
        });
      expect(await write()).toHaveLength(1);
      expect(await write()).toEqual([]);
      expect(await getRecord(stage.parts, stage.space, 'notes', key)).toMatchObject({ etag: 'rev:1' });
    });
  });
}
