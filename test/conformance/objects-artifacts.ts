import { describe, expect, test } from 'vitest';
import { createCollection, removeCollection } from '../../functions/collections/pointers.ts';
import { getRecord } from '../../functions/collections/read-record.ts';
import { readPolicy } from '../../functions/collections/rules/policy.ts';
import { sha256 } from '../../functions/kernel/canonical-json.ts';
import { type ArtifactCommit, commitArtifact } from '../../functions/objects/commit-artifact.ts';
import { stageArtifact } from '../../functions/objects/stage-artifact.ts';
import { MemoryBlobs, type MemoryPlace } from '../simulation/memory-blobs.ts';
import { HOUR_MS, largeBytes, type ObjectsConformance, ObjectsStage } from './objects-stage.ts';

const key = { partitionKey: 'p', id: '1' };

async function staged(stage: ObjectsStage, bytes: Buffer): Promise<ArtifactCommit> {
  const { ticket, inline } = await stageArtifact(stage.parts, stage.space, bytes);
  stage.activeRuns.add(ticket);
  return {
    ticket,
    collection: 'notes',
    recordText: JSON.stringify(key),
    place: { container: 'files', key: 'a' },
    contentType: 'text/plain',
    metadata: { source: 'x' },
    contentHash: sha256(bytes),
    contentLength: bytes.length,
    inline,
  };
}

/** Artifacts: an object and its record, in one transaction of a run. */
export function describeArtifacts({ store }: ObjectsConformance): void {
  const opened = async () => {
    const place: MemoryPlace = new Map();
    const stage = new ObjectsStage(store(), new MemoryBlobs(place));
    await createCollection(stage.parts.records, stage.space, readPolicy({ name: 'notes' }));
    const record = () => getRecord(stage.parts.records, stage.space, 'notes', key);
    return { place, stage, record };
  };

  describe('an artifact', () => {
    test.each([
      ['small', Buffer.from('small'), 0],
      ['large', largeBytes(1), 1],
    ])(
      'that is %s is written with its record, once for all executions of its run',
      async (_, bytes, blobs) => {
        const { place, stage, record } = await opened();
        const commit = await staged(stage, bytes);
        const first = await commitArtifact(stage.parts, stage.space, commit);
        expect(first).toMatchObject({
          key,
          artifact: { container: 'files', key: 'a', contentType: 'text/plain', metadata: { source: 'x' } },
          receivedAt: '2026-01-01T00:00:00.000Z',
        });
        stage.world.advance(3 * HOUR_MS);
        await stage.sweep();
        expect(await commitArtifact(stage.parts, stage.space, commit)).toEqual(first);
        expect(await record()).toMatchObject({ etag: 'rev:1' });
        expect(await stage.get('a')).toEqual(bytes);
        expect((await stage.list()).items).toEqual([first.artifact]);
        stage.activeRuns.clear();
        await stage.sweepLater();
        expect(place.size).toBe(blobs);
      },
    );

    test('keeps its bytes while its run waits, and loses them once no run has them', async () => {
      const { place, stage, record } = await opened();
      const commit = await staged(stage, largeBytes(1));
      for (let times = 0; times < 3; times += 1) await stage.sweepLater();
      expect(place.size).toBe(1);
      stage.activeRuns.clear();
      await stage.sweepLater();
      expect(place.size).toBe(0);
      await expect(commitArtifact(stage.parts, stage.space, commit)).rejects.toMatchObject({
        code: 'unavailable',
      });
      expect([await stage.get('a'), await record()]).toEqual([null, null]);
    });

    test('keeps an object with the same bytes, and is refused over another', async () => {
      const { place, stage, record } = await opened();
      const there = await stage.put('a', largeBytes(1));
      const same = await staged(stage, largeBytes(1));
      const other = await staged(stage, largeBytes(2));
      expect(await commitArtifact(stage.parts, stage.space, same)).toMatchObject({ artifact: there });
      expect(await record()).toMatchObject({ etag: 'rev:1' });
      await expect(commitArtifact(stage.parts, stage.space, other)).rejects.toMatchObject({
        code: 'precondition_failed',
      });
      stage.activeRuns.clear();
      await stage.sweepLater();
      expect(place.size).toBe(1);
      expect(await stage.get('a')).toEqual(largeBytes(1));
      expect(await record()).toMatchObject({ etag: 'rev:1' });
    });

    test('is not written if its record is refused, or its collection no longer exists', async () => {
      const { place, stage } = await opened();
      const commit = await staged(stage, largeBytes(1));
      const bad = { ...commit, recordText: '{"id":"a/b","partitionKey":"p"}' };
      await expect(commitArtifact(stage.parts, stage.space, bad)).rejects.toMatchObject({
        code: 'validation_failed',
      });
      await removeCollection(stage.parts.records, stage.space, 'notes');
      await expect(commitArtifact(stage.parts, stage.space, commit)).rejects.toMatchObject({
        code: 'collection_not_found',
      });
      expect(await stage.get('a')).toBeNull();
      const { discard } = await stageArtifact(stage.parts, stage.space, largeBytes(2));
      expect(place.size).toBe(2);
      await discard();
      expect(place.size).toBe(1);
    });
  });
}
