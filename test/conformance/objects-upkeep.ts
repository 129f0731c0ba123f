import { describe, expect, test } from 'vitest';
import { MemoryBlobs, type MemoryPlace } from '../simulation/memory-blobs.ts';
import { HOUR_MS, largeBytes, type ObjectsConformance, ObjectsStage } from './objects-stage.ts';

/** Upkeep removes replaced and abandoned bytes, and leaves those in use. */
export function describeObjectUpkeep({ store }: ObjectsConformance): void {
  describe('upkeep of objects', () => {
    test('removes bytes that were replaced, once no reader needs them', async () => {
      const place: MemoryPlace = new Map();
      const stage = new ObjectsStage(store(), new MemoryBlobs(place));
      for (const fill of [1, 2]) await stage.put('a', largeBytes(fill));
      await stage.put('a', Buffer.from('small'));
      await stage.put('b', largeBytes(3));
      await stage.remove('b');
      await stage.put('c', largeBytes(4));
      await stage.sweep();
      stage.world.advance(599_999);
      await stage.sweep();
      expect(place.size).toBe(4);
      await stage.sweepLater();
      expect(place.size).toBe(1);
      expect(await stage.get('c')).toEqual(largeBytes(4));
    });

    test('removes bytes that no write has named within an hour, and the write is then refused', async () => {
      const place: MemoryPlace = new Map();
      const stage = new ObjectsStage(store(), new MemoryBlobs(place));
      const other = new ObjectsStage(store(), new MemoryBlobs(place), {
        space: stage.space,
        world: stage.world,
      });
      const slow = new MemoryBlobs(place, {
        async after(call) {
          if (call !== 'put') return;
          stage.world.advance(HOUR_MS - 1);
          await other.sweep();
          expect(place.size).toBe(1);
          stage.world.advance(1);
          await other.sweep();
          expect(place.size).toBe(0);
        },
      });
      const writer = new ObjectsStage(store(), slow, { space: stage.space, world: stage.world });
      await expect(writer.put('a', largeBytes(1))).rejects.toMatchObject({ code: 'unavailable' });
      expect(await stage.get('a')).toBeNull();
    });

    test('also cleans a space that is written all the time', async () => {
      const place: MemoryPlace = new Map();
      const stage = new ObjectsStage(store(), new MemoryBlobs(place));
      for (let minute = 0; minute < 60; minute += 1) {
        await stage.put('a', largeBytes(minute));
        stage.world.advance(60_000);
        await stage.sweep();
      }
      expect(place.size).toBeLessThanOrEqual(22);
    });

    test('continues where it was stopped, and after a failing space', async () => {
      const places: MemoryPlace[] = [new Map(), new Map()];
      let fails = true;
      const broken = new MemoryBlobs(places[0], {
        before: async (call) => {
          if (call === 'remove' && fails) throw new Error('no answer');
        },
      });
      const world = new ObjectsStage(store(), null).world;
      const first = new ObjectsStage(store(), broken, { world });
      for (let times = 0; times < 3; times += 1) await first.put('a', largeBytes(times));
      world.advance(2 * HOUR_MS);
      await expect(first.sweep()).rejects.toThrow('no answer');
      fails = false;
      let steps = 0;
      await first.sweep(() => {
        steps += 1;
        return steps > 1;
      });
      await first.sweepLater();
      expect(places[0]?.size).toBe(1);
    });
  });
}
