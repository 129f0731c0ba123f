import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHUNK_BYTES_MAX, chunkName, MANIFEST_NAME } from '../../../../archives/chunk-list.ts';
import type { SnapshotFault } from '../../../../archives/snapshot-error.ts';
import { canonicalJson, type Json, sha256 } from '../../../../kernel/canonical-json.ts';
import { tenantScope } from '../../records.ts';
import { type ChunkSource, openArchive } from './archive.ts';
import { archived, Objects, sample } from './archive-objects.fixture.ts';
import { GOLDEN_ARCHIVE, GOLDEN_ARCHIVE_HASH, GOLDEN_HASH, GOLDEN_LINES } from './golden.fixture.ts';
import { snapshotHeadLine } from './lines.ts';
import {
  collected,
  emptyTenant,
  faultOf,
  linesIn,
  readLines,
  sampleTenant,
  steps,
  TENANT,
  tenantOf,
} from './tenants.fixture.ts';

/** Reads as a restore does: into a swap, which asks for the outcome last. */
async function restore(source: ChunkSource, tenantId = TENANT, expected?: string) {
  const made = emptyTenant(tenantId);
  const archive = await openArchive(tenantId, source, expected);
  await made.store.swap(tenantScope(tenantId), archive.records, archive.verify);
  return made;
}

describe('an archive', () => {
  test('gives back what was written, in chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 20_000 }), async (played, chunkBytes) => {
        const made = await tenantOf(played);
        const lines = await linesIn(made);
        const objects = await archived(lines, chunkBytes);
        const restored = await restore(objects);
        restored.client.clock.now = made.client.clock.now;
        expect(await linesIn(restored)).toEqual(lines);
        expect(await archived(lines, chunkBytes)).toEqual(objects);
        // The same content in other chunks is another archive of one snapshot.
        const whole = await archived(lines);
        expect(whole.manifest.snapshotContentHash).toBe(objects.manifest.snapshotContentHash);
        expect(whole.manifest.chunks).toHaveLength(1);
      }),
      { seed: 12, numRuns: 60 },
    );
  });

  test('of the first release is read for good', async () => {
    const objects = new Objects(
      Object.entries(GOLDEN_ARCHIVE).map(([name, content]) => [name, Buffer.from(content, 'base64')]),
    );
    const archive = await openArchive('tenant-a', objects, GOLDEN_ARCHIVE_HASH);
    expect(archive.manifest.snapshotContentHash).toBe(GOLDEN_HASH);
    expect(archive.manifest.profile).toBe('svc.canonical.archive.v1');
    expect(archive.manifest.counts).toEqual({ commits: 2, documents: 2, events: 4, fences: 1 });
    expect(await collected(archive.records)).toEqual(readLines(GOLDEN_LINES, 'tenant-a'));
    archive.verify();
  });

  test('fills its chunks with whole lines', async () => {
    const lines = await linesIn(await sampleTenant());
    const sizes = lines.map(({ line }) => Buffer.byteLength(line));
    const two = (sizes[0] ?? 0) + (sizes[1] ?? 0);
    expect((await archived(lines, two)).manifest.chunks[0]).toMatchObject({ records: 1 });
    expect((await archived(lines, two - 1)).manifest.chunks[0]).toMatchObject({ records: 0 });
    expect((await archived(lines, 1)).manifest.chunks).toHaveLength(lines.length);
  });

  test.each([0, 1.5, CHUNK_BYTES_MAX + 1])('has no chunks of %d bytes', async (bytes) => {
    await expect(archived([], bytes)).rejects.toThrow(RangeError);
  });

  test('is written manifest last, and holds no system or time in its gzip', async () => {
    const objects = await sample();
    expect([...objects.keys()].at(-1)).toBe(MANIFEST_NAME);
    expect(Buffer.from(objects.get(chunkName(0)) ?? []).subarray(4, 10)).toEqual(
      Buffer.from([0, 0, 0, 0, 0, 255]),
    );
  });
});

const PARTS = ['every bit flip', 'every cut'] as const;

describe('of a small archive is refused', () => {
  test.each(PARTS)('%s', async (part) => {
    const made = emptyTenant('tenant-a');
    const fence = { name: 'n', value: 'v', ownerDocumentType: 't', ownerDocumentId: 'i' };
    await made.client.commit({ idempotencyKey: 'k', fences: [fence] });
    const objects = await archived(await linesIn(made), 1, 'tenant-a');
    expect(objects.size).toBe(4);
    for (const [name, content] of objects) {
      const harmed = part === 'every cut' ? cutsOf(content) : flipsOf(content);
      for (const bytes of harmed) {
        const changed = new Objects([...objects]);
        changed.set(name, bytes);
        await faultOf(null, () => restore(changed, 'tenant-a'));
      }
    }
  });
});

function* flipsOf(content: Uint8Array): Generator<Uint8Array> {
  for (let bit = 0; bit < content.byteLength * 8; bit++) {
    const flipped = Uint8Array.from(content);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    yield flipped;
  }
}

function* cutsOf(content: Uint8Array): Generator<Uint8Array> {
  for (let length = 0; length < content.byteLength; length++) yield content.subarray(0, length);
  yield Buffer.concat([content, Buffer.from([0])]);
}

/** Manifests that name themselves rightly wherever their maker could see to it. */
const attacks: [string, SnapshotFault, (objects: Objects) => unknown][] = [
  ['no manifest', 'incomplete', (o) => o.delete(MANIFEST_NAME)],
  ['a manifest that is not JSON', 'malformed', (o) => o.set(MANIFEST_NAME, Buffer.from('no'))],
  ['a manifest that is not UTF-8', 'malformed', (o) => o.set(MANIFEST_NAME, Buffer.from([0x22, 0xff, 0x22]))],
  [
    'a manifest spelled otherwise',
    'malformed',
    (o) => o.set(MANIFEST_NAME, Buffer.from(JSON.stringify(o.manifest, null, 1))),
  ],
  ['a manifest of no members', 'invalid', (o) => o.set(MANIFEST_NAME, Buffer.from('null'))],
  [
    'a manifest without its hash',
    'hash_mismatch',
    (o) => o.set(MANIFEST_NAME, Buffer.from(canonicalJson({ ...o.manifest, contentHash: sha256('x') }))),
  ],
  ['a huge manifest', 'over_limit', (o) => o.set(MANIFEST_NAME, Buffer.alloc(16 * 1024 * 1024 + 1))],
  ['a newer profile', 'newer_version', (o) => o.reseal({ profile: 'svc.canonical.archive.v2', more: 1 })],
  ['a foreign profile', 'invalid', (o) => o.reseal({ profile: 'other.canonical.archive.v1' })],
  ['another tenant', 'other_tenant', (o) => o.reseal({ tenantId: 'tenant-b' })],
  ['an unknown member', 'invalid', (o) => o.reseal({ more: 1 })],
  ['no chunks', 'invalid', (o) => o.reseal({ chunks: [] })],
  ['too many chunks', 'over_limit', (o) => o.reseal({ chunks: Array.from({ length: 100_001 }, () => 0) })],
  ['a missing chunk', 'incomplete', (o) => o.delete(chunkName(1))],
  ['an extra chunk', 'invalid', (o) => o.set(chunkName(99), Buffer.from('x'))],
  ['a chunk that no manifest names', 'invalid', (o) => o.reseal({ chunks: o.manifest.chunks.slice(0, -1) })],
  [
    'a chunk named twice',
    'invalid',
    (o) => o.reseal({ chunks: o.manifest.chunks.with(2, o.manifest.chunks[1] ?? (null as never)) }),
  ],
  ['chunks listed in another order', 'invalid', (o) => o.reseal({ chunks: o.manifest.chunks.toReversed() })],
  [
    'chunks in each other’s place',
    'hash_mismatch',
    (o) => {
      const [one, two] = [o.get(chunkName(1)), o.get(chunkName(2))];
      o.set(chunkName(1), two ?? Buffer.alloc(0)).set(chunkName(2), one ?? Buffer.alloc(0));
    },
  ],
  [
    'chunks in each other’s place, and a manifest that says so',
    'order',
    (o) => {
      const [one, two] = [o.get(chunkName(1)), o.get(chunkName(2))];
      o.replace(1, two ?? Buffer.alloc(0));
      o.replace(2, one ?? Buffer.alloc(0));
      const { chunks } = o.manifest;
      const records = [1, 2].map((n) => chunks[n]?.records ?? 0);
      o.reseal({
        chunks: chunks.map((c, n) => (n === 1 || n === 2 ? { ...c, records: records[2 - n] } : c)),
      });
    },
  ],
  ['a chunk repeated in the next', 'duplicate', (o) => o.replace(2, o.get(chunkName(1)) ?? Buffer.alloc(0))],
  ['a gzip bomb', 'over_limit', (o) => o.replace(1, gzipSync(Buffer.alloc(CHUNK_BYTES_MAX + 1, '\n')))],
  ['a chunk that is no gzip', 'malformed', (o) => o.replace(1, Buffer.from('no'))],
  ['an empty chunk', 'malformed', (o) => o.replace(1, gzipSync(''))],
  ['half a line', 'malformed', (o) => o.replace(1, gzipSync('{}'))],
  ['an empty line', 'malformed', (o) => o.replace(1, gzipSync('\n'))],
  ['a line that is not UTF-8', 'malformed', (o) => o.replace(1, gzipSync(Buffer.from([0xff, 0x0a])))],
  [
    'a wrong number of records in a chunk',
    'invalid',
    (o) => o.reseal({ chunks: o.manifest.chunks.map((c) => ({ ...c, records: c.records + 1 })) }),
  ],
  ['a wrong count', 'invalid', (o) => o.reseal({ counts: { ...o.manifest.counts, events: 3 } })],
  ['the hash of another content', 'hash_mismatch', (o) => o.reseal({ snapshotContentHash: sha256('x') })],
];

describe('an archive is refused, and nothing replaced, that holds', () => {
  test.each(attacks)('%s', async (_, fault, attack) => {
    const objects = await sample();
    attack(objects);
    await faultOf(fault, () => restore(objects, 'tenant-a'));
    const made = await sampleTenant();
    const before = await linesIn(made);
    const attempt = async () => {
      const archive = await openArchive('tenant-a', objects);
      await made.store.swap(tenantScope('tenant-a'), archive.records, archive.verify);
    };
    await faultOf(fault, attempt);
    expect(await linesIn(made)).toEqual(before);
  });

  test('the records of a tenant that is not asked for, or another content than expected', async () => {
    const objects = await sample();
    await faultOf('other_tenant', () => restore(objects, 'tenant-b'));
    await faultOf('hash_mismatch', () => restore(objects, 'tenant-a', sha256('x')));
    await restore(objects, 'tenant-a', objects.manifest.contentHash);
  });

  test('a line of another tenant under a manifest of this one', async () => {
    const objects = await archived([{ line: snapshotHeadLine('tenant-b'), entry: null }], 100, 'tenant-a');
    await faultOf('other_tenant', () => restore(objects, 'tenant-a'));
  });

  test('an object twice', async () => {
    const objects = await sample();
    const source = { names: async () => [...objects.keys(), chunkName(0)], read: objects.read.bind(objects) };
    await faultOf('duplicate', () => openArchive('tenant-a', source));
  });
});

test('nothing is verified before the end', async () => {
  const archive = await openArchive('tenant-a', await sample());
  await faultOf('incomplete', archive.verify);
  const records = archive.records[Symbol.asyncIterator]();
  for (let next = await records.next(); next.done !== true; next = await records.next()) {
    await faultOf('incomplete', archive.verify);
  }
  archive.verify();
  await expect(collected(archive.records)).rejects.toThrow('once');
});

test('the manifest says what it says and no more', async () => {
  const { manifest } = await sample();
  const names = ['chunks', 'contentHash', 'counts', 'profile', 'snapshotContentHash', 'tenantId'];
  expect(Object.keys(manifest as unknown as Record<string, Json>).sort()).toEqual(names);
  expect(Object.keys(manifest.chunks[0] ?? {}).sort()).toEqual(['bytes', 'hash', 'index', 'records']);
});
