import { describe, expect, test } from 'vitest';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { putObject } from '../../functions/objects/put-object.ts';
import { readObject } from '../../functions/objects/read-object.ts';
import { OBJECT_INLINE_BYTES_MAX } from '../../functions/objects/stored-object.ts';
import { MemoryBlobs, type MemoryPlace } from '../simulation/memory-blobs.ts';
import { largeBytes, type ObjectsConformance, ObjectsStage, once } from './objects-stage.ts';

const failed = { code: 'precondition_failed', message: expect.stringContaining('precondition failed') };

/** Writes, reads and deletes of objects, alone and against rivals. */
export function describeObjectLife({ store, rivals }: ObjectsConformance): void {
  const staged = () => {
    const place: MemoryPlace = new Map();
    return { place, stage: new ObjectsStage(store(), new MemoryBlobs(place)) };
  };

  describe('an object', () => {
    test.each([
      ['nothing', 0, 0],
      ['few bytes', 5, 0],
      ['as many bytes as fit in its record', OBJECT_INLINE_BYTES_MAX, 0],
      ['one byte more', OBJECT_INLINE_BYTES_MAX + 1, 1],
      ['a mebibyte', 1024 * 1024, 1],
    ])('of %s is read back unchanged', async (_, size, blobs) => {
      const { place, stage } = staged();
      const bytes = Buffer.from(Array.from({ length: size }, (_each, index) => index % 251));
      const name = { container: 'files', key: 'a/é \u{10000}.txt' };
      const contentType = 'text/html; charset=utf-8';
      const metadata = { __proto_: 'x', source: 'y z' };
      const write = {
        place: name,
        contentType,
        metadata,
        condition: {},
        body: once(bytes),
        declaredBytes: size,
      };
      const info = await putObject(stage.parts, stage.space, write);
      const contentHash = sha256(bytes);
      expect(info).toEqual({
        ...name,
        contentType,
        contentLength: size,
        etag: contentHash,
        contentHash,
        metadata,
        updatedAt: '2026-01-01T00:00:00.000Z',
      });
      const lease = stage.parts.bytes.lease(stage.space);
      const unwanted = await readObject(stage.parts, stage.space, name, { wants: () => false, lease });
      expect(unwanted).toEqual({ info, bytes: null });
      lease.release();
      expect(Buffer.compare((await stage.get(name.key)) ?? Buffer.from('none'), bytes)).toBe(0);
      expect([...place.values()].map(({ contentType: type }) => type)).toEqual(
        Array(blobs).fill('application/octet-stream'),
      );
      expect(stage.parts.bytes.total).toBe(0);
    });

    test('is of its space alone', async () => {
      const { stage } = staged();
      const other = new ObjectsStage(store(), new MemoryBlobs());
      await stage.put('a', Buffer.from('mine'));
      await other.put('a', Buffer.from('theirs'));
      await other.remove('a');
      expect(await stage.get('a')).toEqual(Buffer.from('mine'));
      expect(await other.get('a')).toBeNull();
    });

    test('of any size is replaced and removed', async () => {
      const { stage } = staged();
      const versions = [largeBytes(1), Buffer.from('small'), largeBytes(2), largeBytes(3), Buffer.from('')];
      for (const bytes of versions) {
        stage.world.advance(1_000);
        await stage.put('a', bytes);
        expect(await stage.get('a')).toEqual(bytes);
      }
      for (let times = 0; times < 2; times += 1) await stage.remove('a');
      expect(await stage.get('a')).toBeNull();
      expect((await stage.list()).items).toEqual([]);
    });

    test('is written and removed under conditions, decided before its bytes are read', async () => {
      const { place, stage } = staged();
      await expect(stage.put('a', largeBytes(1), { ifMatch: '*' })).rejects.toMatchObject(failed);
      await expect(stage.remove('a', { ifMatch: '*' })).rejects.toMatchObject(failed);
      expect(place.size).toBe(0);
      const { etag } = await stage.put('a', largeBytes(1), { ifNoneMatch: '*' });
      await expect(stage.put('a', Buffer.from('b'), { ifNoneMatch: '*' })).rejects.toMatchObject(failed);
      await expect(stage.remove('a', { ifMatch: '"sha256:0"' })).rejects.toMatchObject(failed);
      const second = await stage.put('a', Buffer.from('b'), { ifMatch: `"${etag}"` });
      let isRead = false;
      async function* watched() {
        isRead = true;
        yield Buffer.from('c');
      }
      const stale = { place: { container: 'files', key: 'a' }, contentType: null, metadata: {} };
      const write = { ...stale, condition: { ifMatch: etag }, body: watched() };
      await expect(putObject(stage.parts, stage.space, write)).rejects.toMatchObject(failed);
      expect(isRead).toBe(false);
      await stage.remove('a', { ifMatch: second.etag });
      expect(await stage.get('a')).toBeNull();
    });

    test('is written by one of many rivals with the same condition, which leave nothing behind', async () => {
      const { place, stage } = staged();
      const { etag } = await stage.put('a', largeBytes(255));
      const processes = Array.from({ length: rivals }, (_, index) => ({
        bytes: largeBytes(index),
        process: new ObjectsStage(store(), new MemoryBlobs(place), {
          space: stage.space,
          world: stage.world,
        }),
      }));
      const outcomes = await Promise.allSettled(
        processes.map(({ process, bytes }) => process.put('a', bytes, { ifMatch: etag })),
      );
      const winners = processes.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(failed);
      expect(await stage.get('a')).toEqual(winners[0]?.bytes);
      await stage.sweepLater();
      expect([...place.values()].map(({ sha256: hash }) => hash)).toEqual([sha256(winners[0]?.bytes ?? '')]);
    });

    test('that is replaced during a read is read whole, old or new', async () => {
      const { place, stage } = staged();
      await stage.put('a', largeBytes(1));
      let replaced = false;
      const blobs = new MemoryBlobs(place, {
        async before(call) {
          if (call !== 'get' || replaced) return;
          replaced = true;
          await stage.put('a', largeBytes(2));
          await stage.sweepLater();
        },
      });
      const reader = new ObjectsStage(store(), blobs, { space: stage.space, world: stage.world });
      expect(await reader.get('a')).toEqual(largeBytes(2));
      const kept = new MemoryBlobs(place, { before: async () => void (await stage.put('a', largeBytes(3))) });
      const second = new ObjectsStage(store(), kept, { space: stage.space, world: stage.world });
      expect(await second.get('a')).toEqual(largeBytes(2));
      expect(replaced).toBe(true);
    });

    test('that grows while it is read is counted with all its bytes', async () => {
      const { place, stage } = staged();
      await stage.put('a', largeBytes(1));
      const larger = Buffer.alloc(100_000, 2);
      const counted: number[] = [];
      const blobs = new MemoryBlobs(place, {
        async before(call) {
          if (call !== 'get') return;
          counted.push(reader.parts.bytes.total);
          if (counted.length > 1) return;
          await stage.put('a', larger);
          await stage.sweepLater();
        },
      });
      const reader = new ObjectsStage(store(), blobs, { space: stage.space, world: stage.world });
      expect(await reader.get('a')).toEqual(larger);
      expect(counted).toEqual([largeBytes(1).byteLength, larger.byteLength]);
    });

    test('with missing bytes is a fault of the store, and not an absent object', async () => {
      const { place, stage } = staged();
      await stage.put('a', largeBytes(1));
      place.clear();
      await expect(stage.get('a')).rejects.toMatchObject({ failure: 'corrupt' });
      const lease = stage.parts.bytes.lease(stage.space);
      const name = { container: 'files', key: 'a' };
      const known = await readObject(stage.parts, stage.space, name, { wants: () => false, lease });
      expect(known).toMatchObject({ bytes: null, info: { contentLength: largeBytes(1).length } });
    });

    test('is in the record store when there is no blob store', async () => {
      const stage = new ObjectsStage(store(), null);
      const bytes = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => (index * 7) % 251));
      await stage.put('a', bytes);
      expect(Buffer.compare((await stage.get('a')) ?? Buffer.from(''), bytes)).toBe(0);
      await stage.remove('a');
      expect(await stage.get('a')).toBeNull();
      await stage.sweepLater();
    });
  });
}
