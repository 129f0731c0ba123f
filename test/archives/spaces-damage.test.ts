import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type ArchiveChunk, chunkName, MANIFEST_NAME } from '../../functions/archives/chunk-list.ts';
import type { ChunkSource } from '../../functions/archives/chunk-objects.ts';
import { CopyRefusal } from '../../functions/archives/copy-refusal.ts';
import { manifestBytes, sealed } from '../../functions/archives/manifest.ts';
import { SnapshotError, type SnapshotFault } from '../../functions/archives/snapshot-error.ts';
import { SpaceTally } from '../../functions/collections/copies/archive-lines.ts';
import { type SpaceManifest } from '../../functions/collections/copies/archive-manifest.ts';
import { restoreSpace, verifySpace } from '../../functions/collections/copies/restore-space.ts';
import { canonicalJson, type Json, sha256 } from '../../functions/kernel/canonical-json.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { Objects } from './objects.ts';
import { archived, fill, incarnation, policy, record, richSpace, SPACE, scanned } from './spaces.ts';

/** Archives that are damaged, forged or cut short are refused, and the space stays as it was. */

const [notes, other] = [incarnation(1), incarnation(2)];
const small = [
  policy('notes', notes),
  policy('other', other),
  ...Array.from({ length: 6 }, (_, n) => record(n < 4 ? notes : other, 'p', `note-${n}`)),
];
const old = [policy('old', incarnation(7)), record(incarnation(7), 'p', 'old')];

const newStore = () => new MemoryStore(new MemoryDatabase());

async function smallArchive(chunkBytes = 600) {
  const store = newStore();
  await fill(store, SPACE, small);
  return archived(store, SPACE, chunkBytes);
}

/** The fault of verification and of a restore, after which the old space must stand. */
async function faultOf(source: ChunkSource, expected?: string): Promise<SnapshotFault | null> {
  const store = newStore();
  await fill(store, SPACE, old);
  const before = await scanned(store, SPACE);
  const how = expected === undefined ? {} : { expectedContentHash: expected };
  const verified = await fault(verifySpace(source, SPACE, how));
  expect(await fault(restoreSpace(store, source, SPACE, { ...how, replace: true }))).toBe(verified);
  if (verified !== null) expect(await scanned(store, SPACE)).toEqual(before);
  return verified;
}

async function fault(call: Promise<unknown>): Promise<SnapshotFault | null> {
  try {
    await call;
    return null;
  } catch (error) {
    if (error instanceof SnapshotError) return error.fault;
    throw error;
  }
}

function changedAt(objects: Objects, name: string, change: (bytes: Buffer) => Uint8Array | null): Objects {
  return new Objects(
    objects.entries().flatMap(([each, bytes]): [string, Uint8Array][] => {
      if (each !== name) return [[each, bytes]];
      const changed = change(Buffer.from(bytes));
      return changed === null ? [] : [[each, changed]];
    }),
  );
}

/** An archive whose hashes and counts are right, of lines that someone has edited. */
function forged(manifest: SpaceManifest, objects: Objects, edit: (lines: string[]) => string[]): Objects {
  const chunks = objects.entries().filter(([name]) => name !== MANIFEST_NAME);
  const lines = chunks.flatMap(([, bytes]) => gunzipSync(bytes).toString().split('\n').slice(0, -1));
  const changed = edit(lines);
  const content = Buffer.from(changed.map((line) => `${line}\n`).join(''));
  const tally = new SpaceTally();
  tally.addText(content);
  for (const line of changed.slice(1)) tally.addEntry(entryIn(line));
  const stored = gzipSync(content);
  const chunk: ArchiveChunk = {
    index: 0,
    bytes: stored.byteLength,
    records: changed.length - 1,
    hash: sha256(stored),
  };
  const { contentHash: _, ...kept } = manifest;
  const counts = Object.fromEntries(
    Object.keys(manifest.counts).map((name) => [name, tally.counts[name] ?? 0]),
  );
  const snapshotContentHash = tally.contentHash();
  const made = sealed({ ...kept, chunks: [chunk], counts, snapshotContentHash });
  return new Objects([
    [chunkName(0), stored],
    [MANIFEST_NAME, manifestBytes(made)],
  ]);
}

type Line = { [member: string]: Json };

function entryIn(line: string) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** Changes the first line that fits. */
function edited(fits: (entry: Line) => boolean, change: (entry: Line) => Json) {
  return (lines: string[]): string[] => {
    const at = lines.findIndex((line) => fits(JSON.parse(line)));
    return lines.with(at, canonicalJson(change(JSON.parse(lines[at] ?? ''))));
  };
}

const isPolicy = ({ collection }: Line) => collection === 'policies';
const isRecord = ({ collection }: Line) => collection === 'records';
const listing = (entry: Line, changes: Line): Line => ({
  ...entry,
  listing: { ...(entry.listing as Line), ...changes },
});

describe('an archive of a space', () => {
  test('is refused with any of its bytes changed', async () => {
    const { objects } = await smallArchive();
    expect(objects.entries().length).toBeGreaterThan(3);
    for (const [name, content] of objects.entries())
      for (let at = 0; at < content.byteLength; at += 1) {
        const damaged = changedAt(objects, name, (bytes) => bytes.fill((bytes[at] ?? 0) ^ 0x20, at, at + 1));
        expect(await fault(verifySpace(damaged, SPACE)), `${name} ${at}`).not.toBeNull();
      }
  });

  test('is refused cut at any byte, without any object, with two exchanged, or with one too many', async () => {
    const { objects } = await smallArchive();
    for (const [name, content] of objects.entries()) {
      for (const length of [0, 1, content.byteLength >> 1, content.byteLength - 1])
        expect(await faultOf(changedAt(objects, name, (bytes) => bytes.subarray(0, length)))).not.toBeNull();
      expect(await faultOf(changedAt(objects, name, () => null))).toBe('incomplete');
    }
    const [one, two] = [await objects.read(chunkName(0)), await objects.read(chunkName(1))];
    const swapped = changedAt(
      changedAt(objects, chunkName(0), () => two),
      chunkName(1),
      () => one,
    );
    expect(await faultOf(swapped)).toBe('hash_mismatch');
    expect(await faultOf(new Objects([...objects.entries(), ['chunk-000099.bin', Buffer.of(1)]]))).toBe(
      'invalid',
    );
  });

  test('is refused under another hash, for another space, and where it is of another kind or release', async () => {
    const { objects, manifest } = await smallArchive();
    expect(await faultOf(objects, manifest.contentHash)).toBeNull();
    expect(await faultOf(objects, `sha256:${'0'.repeat(64)}`)).toBe('hash_mismatch');
    expect(await fault(verifySpace(objects, 'elsewhere'))).toBe('other_space');
    const profiled = (profile: string) =>
      changedAt(objects, MANIFEST_NAME, () =>
        manifestBytes(sealed({ ...manifest, profile } as unknown as SpaceManifest)),
      );
    expect(await faultOf(profiled('svc.records.archive.v2'))).toBe('newer_version');
    expect(await faultOf(profiled('svc.runs.archive.v1'))).toBe('invalid');
  });

  const strange = '0'.repeat(32);
  const forgeries: readonly [string, (lines: string[]) => string[], SnapshotFault][] = [
    ['a record that stands twice', (lines) => [...lines, lines.at(-1) ?? ''], 'duplicate'],
    [
      'records in another order',
      (lines) => [...lines.slice(0, -2), lines.at(-1) ?? '', lines.at(-2) ?? ''],
      'order',
    ],
    ['a line that is not canonical', (lines) => lines.with(1, ` ${lines[1]}`), 'malformed'],
    ['a line that is no JSON', (lines) => lines.with(3, '{'), 'malformed'],
    ['no head line', (lines) => lines.slice(1), 'invalid'],
    [
      'a head line of another space',
      (lines) => lines.with(0, lines[0]?.replace(SPACE, 'else') ?? ''),
      'invalid',
    ],
    [
      'a head line of a later version',
      (lines) => lines.with(0, lines[0]?.replace(':1}', ':2}') ?? ''),
      'newer_version',
    ],
    ['records of a collection that it lacks', (lines) => lines.filter((_, n) => n !== 1), 'invalid'],
    [
      'a record of another kind',
      edited(isRecord, (entry) => ({ ...entry, collection: 'documents' })),
      'invalid',
    ],
    ['a record without listing', edited(isRecord, (entry) => ({ ...entry, listing: null })), 'invalid'],
    ['a record without body', edited(isRecord, (entry) => ({ ...entry, body: null })), 'invalid'],
    ['a body that is no object', edited(isRecord, (entry) => ({ ...entry, body: '[]' })), 'invalid'],
    ['a body that is no JSON', edited(isRecord, (entry) => ({ ...entry, body: '{"id":' })), 'invalid'],
    [
      'a record under the key of another',
      edited(isRecord, (entry) => ({ ...entry, id: strange })),
      'invalid',
    ],
    ['a record listed as another', edited(isRecord, (entry) => listing(entry, { id: 'other' })), 'invalid'],
    [
      'a record in an unknown group',
      edited(isRecord, (entry) => listing(entry, { group: strange })),
      'invalid',
    ],
    [
      'an index that is no text',
      edited(isRecord, (entry) => listing(entry, { indexes: { n: 1 } })),
      'invalid',
    ],
    ['a head that holds an object', edited(isRecord, (entry) => ({ ...entry, head: { a: {} } })), 'invalid'],
    ['an unknown member', edited(isRecord, (entry) => ({ ...entry, more: 1 })), 'invalid'],
    ['a policy under another name', edited(isPolicy, (entry) => listing(entry, { id: 'else' })), 'invalid'],
    ['a policy in another group', edited(isPolicy, (entry) => listing(entry, { group: 'else' })), 'invalid'],
    [
      'a policy of a creation that is none',
      edited(isPolicy, (entry) => ({ ...entry, head: { incarnation: notes, creation: 'x' } })),
      'invalid',
    ],
    ['a policy without incarnation', edited(isPolicy, (entry) => ({ ...entry, head: {} })), 'invalid'],
    [
      'two policies of one incarnation',
      (lines) => lines.map((line) => line.replaceAll(other, notes)),
      'invalid',
    ],
  ];
  test.each(forgeries)('is refused with %s', async (_, edit, expected) => {
    const { objects, manifest } = await smallArchive();
    expect(await faultOf(forged(manifest, objects, (lines) => lines))).toBeNull();
    expect(await faultOf(forged(manifest, objects, edit))).toBe(expected);
  });

  test('whose chunks change between verification and restore leaves the space unchanged', async () => {
    const { objects } = await smallArchive();
    const store = newStore();
    await fill(store, SPACE, old);
    const before = await scanned(store, SPACE);
    let reads = 0;
    const fickle: ChunkSource = {
      names: () => objects.names(),
      async read(name) {
        const content = await objects.read(name);
        if (name !== chunkName(1)) return content;
        reads += 1;
        return reads === 1 ? content : Buffer.from(content ?? []).fill(0, 20);
      },
    };
    expect(await fault(restoreSpace(store, fickle, SPACE, { replace: true }))).toBe('hash_mismatch');
    expect(reads).toBe(2);
    expect(await scanned(store, SPACE)).toEqual(before);
  });

  test('is not restored over collections without leave, also where they were created meanwhile', async () => {
    const { objects } = await smallArchive();
    const store = newStore();
    const refused = (source: ChunkSource) =>
      expect(restoreSpace(store, source, SPACE)).rejects.toThrow(CopyRefusal);
    let reads = 0;
    await refused({
      names: () => objects.names(),
      async read(name) {
        reads += 1;
        if (reads === 6) await fill(store, SPACE, old);
        return objects.read(name);
      },
    });
    expect(reads).toBeGreaterThan(6);
    const before = await scanned(store, SPACE);
    expect(before).toHaveLength(2);
    await refused(objects);
    expect(await scanned(store, SPACE)).toEqual(before);
  });

  test('is as large as its space: empty, or of records beside chunks that are smaller than each', async () => {
    const empty = await archived(newStore());
    expect(empty.manifest.counts).toEqual({ policies: 0, records: 0 });
    expect(await faultOf(empty.objects)).toBeNull();
    const store = newStore();
    await fill(store, SPACE, richSpace('rich').carried);
    const { objects, manifest } = await archived(store, SPACE, 1);
    expect(manifest.chunks).toHaveLength(richSpace('rich').carried.length + 1);
    expect(await faultOf(objects)).toBeNull();
  });
});
