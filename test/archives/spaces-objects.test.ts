import { expect, test } from 'vitest';
import { exportSpace } from '../../functions/collections/copies/export-space.ts';
import { restoreSpace } from '../../functions/collections/copies/restore-space.ts';
import { hasObjects } from '../../functions/collections/copies/space-objects.ts';
import { largeBytes, ObjectsStage } from '../conformance/objects-stage.ts';
import { MemoryBlobs, type MemoryPlace } from '../simulation/memory-blobs.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { Objects } from './objects.ts';
import { fill, richSpace, SPACE } from './spaces.ts';

/** Archives of spaces carry no objects, and no restore takes them away unseen. */

test('a restore is refused while the space has objects, or bytes that await their removal', async () => {
  const store = new MemoryStore(new MemoryDatabase());
  await fill(store, SPACE, richSpace('one').carried);
  const place: MemoryPlace = new Map();
  const stage = new ObjectsStage(store, new MemoryBlobs(place), { space: SPACE });
  await stage.put('a', largeBytes(1));
  expect(await hasObjects(store, SPACE)).toBe(true);
  expect(await hasObjects(store, 'other')).toBe(false);
  const objects = new Objects();
  const manifest = await exportSpace(store, SPACE, objects);
  expect(Object.keys(manifest.counts)).toEqual(['policies', 'records']);

  const restore = () => restoreSpace(store, objects, SPACE, { replace: true });
  await expect(restore()).rejects.toMatchObject({ conflict: 'not_empty' });
  expect(await stage.get('a')).toEqual(largeBytes(1));
  await stage.remove('a');
  await expect(restore()).rejects.toMatchObject({ conflict: 'not_empty' });
  await stage.sweepLater();
  expect(place.size).toBe(0);
  await restore();
  expect(await hasObjects(store, SPACE)).toBe(false);
});

test('an object that is written while the archive is loaded stops the restore', async () => {
  const database = new MemoryDatabase();
  const plain = new MemoryStore(database);
  await fill(plain, SPACE, richSpace('one').carried);
  const objects = new Objects();
  await exportSpace(plain, SPACE, objects);
  const stage = new ObjectsStage(plain, null, { space: SPACE });
  let isWritten = false;
  const store = new MemoryStore(database, {
    async before(trip) {
      if (trip !== 'swap' || isWritten) return;
      isWritten = true;
      await stage.put('a', Buffer.from('a'));
    },
  });
  const refused = restoreSpace(store, objects, SPACE, { replace: true });
  await expect(refused).rejects.toMatchObject({ conflict: 'not_empty' });
  expect(await stage.get('a')).toEqual(Buffer.from('a'));
});
