import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  type ArchiveChunk,
  chunkName,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
  STORED_CHUNK_BYTES_MAX,
} from '../../functions/archives/chunk-list.ts';
import type { ChunkSource } from '../../functions/archives/chunk-objects.ts';
import { SnapshotError } from '../../functions/archives/snapshot-error.ts';
import { restoreSpace, verifySpace } from '../../functions/collections/copies/restore-space.ts';
import { spaceCollections, spaceScope } from '../../functions/collections/store-collections.ts';
import { machine } from '../../functions/compose/machine.ts';
import {
  exportTenantArchive,
  restoreTenantArchive,
  verifyTenantArchive,
} from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { tenantCollections, tenantScope } from '../../functions/groups/canonical/records.ts';
import { canonicalJson, type JsonObject, sha256 } from '../../functions/kernel/canonical-json.ts';
import { ALL_RUNS } from '../../functions/runs/copies/archive-lines.fixture.ts';
import { restoreRuns, verifyRuns } from '../../functions/runs/copies/restore-runs.ts';
import { executionCollections } from '../../functions/runs/records.ts';
import type { Collection, RecordStore, Scope } from '../../functions/store/port.ts';
import { archived as archivedRuns, begin } from '../conformance/execution-copies-runs.ts';
import { ownRuns } from '../conformance/execution-fixtures.ts';
import { roomForBytes } from '../conformance/execution-maintenance-fixtures.ts';
import { MemoryDatabase } from '../simulation/memory-database.ts';
import { MemoryStore } from '../simulation/memory-store.ts';
import { TenantClient } from '../support/canonical.ts';
import { Objects } from './objects.ts';
import { archived as archivedSpace, fill, incarnation, policy, record, SPACE } from './spaces.ts';

/** Values that no request may hold, in archives of each kind whose hashes and counts are right. */

const root = join(import.meta.dirname, '../..');
const TENANT = 'acme';
const newStore = () => new MemoryStore(new MemoryDatabase());

interface Kind {
  /** The archive file that holds the lines of the kind. */
  readonly file: string;
  readonly make: () => Promise<ChunkSource>;
  readonly verify: (source: ChunkSource) => Promise<unknown>;
  readonly restore: (store: RecordStore, source: ChunkSource) => Promise<unknown>;
  /** A store with content of before. */
  readonly fill: (store: RecordStore) => Promise<unknown>;
  readonly scope: Scope;
  readonly collections: readonly Collection[];
  /** Puts a member into the JSON of the first record with content; `null`: the line has none. */
  readonly edit: (line: string, member: string) => string | null;
}

/** Into a body, which a line holds as text. */
function intoBody(collection: string) {
  return (line: string, member: string): string | null => {
    const entry = JSON.parse(line) as JsonObject;
    const { body } = entry;
    if (entry['collection'] !== collection || typeof body !== 'string') return null;
    return canonicalJson({ ...entry, body: `{${member},${body.slice(1)}` });
  };
}

const small = [policy('notes', incarnation(1)), record(incarnation(1), 'p', 'note')];

const kinds: Readonly<Record<string, Kind>> = {
  'a tenant': {
    file: 'functions/groups/canonical/copies/snapshot/lines.ts',
    async make() {
      const [store, objects] = [newStore(), new Objects()];
      const client = new TenantClient(store, TENANT);
      await client.commit({ mutations: [client.upsert('a')] });
      await exportTenantArchive(store, TENANT, objects, { now: machine.clock.now() });
      return objects;
    },
    verify: (source) => verifyTenantArchive(TENANT, source),
    restore: (store, source) => restoreTenantArchive(store, TENANT, source),
    async fill(store) {
      const client = new TenantClient(store, TENANT);
      await client.commit({ mutations: [client.upsert('before')] });
    },
    scope: tenantScope(TENANT),
    collections: tenantCollections,
    // In the order of canonical JSON it is the first member.
    edit: (line, member) =>
      line.includes('"data":{') ? line.replace('"data":{', `"data":{${member},`) : null,
  },
  runs: {
    file: 'functions/runs/copies/line-reader.ts',
    async make() {
      const home = ownRuns(newStore(), { blobs: await roomForBytes() });
      await begin(home, TENANT);
      return (await archivedRuns(home, ALL_RUNS)).archive;
    },
    verify: (source) => verifyRuns(source, ALL_RUNS),
    restore: (store, source) => restoreRuns(ownRuns(store).instance.runtime, source, ALL_RUNS),
    fill: () => Promise.resolve(),
    scope: ownRuns(newStore()).scope,
    collections: executionCollections,
    edit: intoBody('runs'),
  },
  'a space': {
    file: 'functions/collections/copies/line-reader.ts',
    async make() {
      const store = newStore();
      await fill(store, SPACE, small);
      return (await archivedSpace(store)).objects;
    },
    verify: (source) => verifySpace(source, SPACE),
    restore: (store, source) => restoreSpace(store, source, SPACE, { replace: true }),
    fill: (store) => fill(store, SPACE, [policy('old', incarnation(7)), record(incarnation(7), 'p', 'old')]),
    scope: spaceScope(SPACE),
    collections: spaceCollections,
    edit: intoBody('records'),
  },
};

/** The archive with one line changed, and a manifest that knows it. */
async function forged(source: ChunkSource, edit: (line: string) => string | null): Promise<Objects> {
  const { contentHash: _, ...manifest } = JSON.parse(
    Buffer.from((await source.read(MANIFEST_NAME, MANIFEST_BYTES_MAX)) ?? []).toString(),
  ) as JsonObject & { readonly contentHash: string };
  const lines: string[] = [];
  for (const { index } of manifest['chunks'] as unknown as readonly ArchiveChunk[])
    lines.push(
      ...gunzipSync((await source.read(chunkName(index), STORED_CHUNK_BYTES_MAX)) ?? '')
        .toString()
        .split('\n')
        .slice(0, -1),
    );
  const at = lines.findIndex((line, n) => n > 0 && edit(line) !== null);
  const content = Buffer.from(lines.map((line, n) => `${n === at ? edit(line) : line}\n`).join(''));
  const stored = gzipSync(content);
  const chunk = { index: 0, bytes: stored.byteLength, records: lines.length - 1, hash: sha256(stored) };
  const changed = { ...manifest, chunks: [chunk], snapshotContentHash: sha256(content) };
  const sealed = { ...changed, contentHash: sha256(canonicalJson(changed)) };
  return new Objects([
    [chunkName(0), stored],
    [MANIFEST_NAME, Buffer.from(canonicalJson(sealed))],
  ]);
}

async function contentOf(store: RecordStore, { scope, collections }: Kind): Promise<unknown[]> {
  const found: unknown[] = [];
  const names = collections.map(({ name }) => name);
  for await (const { records } of store.scan(scope, { collections: names, pageSize: 100 }))
    found.push(...records);
  return found;
}

test('every reader of lines has its row', () => {
  const files = globSync('functions/**/*.ts', { cwd: root }).filter((file) =>
    /^ +checkHead: /m.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(files.sort()).toEqual(
    Object.values(kinds)
      .map(({ file }) => file)
      .sort(),
  );
});

describe.each(Object.entries(kinds))('an archive of %s', (name, kind) => {
  test('is read back where nothing is changed', async () => {
    const same = await forged(await kind.make(), () => null);
    await kind.verify(same);
  });

  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  test.each<[string, string]>([
    ['the member __proto__', '"__proto__":{"a":1}'],
    ['the member __proto__ in an object', '"!":{"__proto__":1}'],
    ['the member __proto__ with an escape', '"!":{"__pr\\u006fto__":1}'],
    ['a number beyond a double', '"!":1e999'],
    ['an integer that a double changes', '"!":9007199254740993'],
    ['a number that a double changes', '"!":9007199254740993.0'],
    ['a number that a double makes zero', '"!":1e-400'],
    ['more digits than a double keeps', '"!":0.1234567890123456789'],
    ['a member twice', '"!":{"a":1,"a":2}'],
    ['900 levels', `"!":${nested(900)}`],
    ['5,000 levels', `"!":${nested(5_000)}`],
    ['5,000 levels and an escape in a name', `"\\u0021":${nested(5_000)}`],
    ['100,000 levels', `"!":${nested(100_000)}`],
    ['a text of 4.8 MB', `"!":"${'x'.repeat(4_800_000)}"`],
    ...(name === 'a space'
      ? (
          [
            ['half of a surrogate pair', '"!":"\\ud800"'],
            ['a known member of another type', '"metadata":5,"!":1'],
            ['a member that the service assigns', '"etag":"rev:1"'],
            ['white space', '"!": 1'],
            ['a vector without a policy', '"vectors":{"other":{"values":"AAAA"}}'],
          ] as const
        ).map(([what, member]): [string, string] => [what, member])
      : []),
  ])('with %s is refused, and nothing is restored', async (_, member) => {
    const hostile = await forged(await kind.make(), (line) => kind.edit(line, member));
    const store = newStore();
    await kind.fill(store);
    const before = await contentOf(store, kind);
    await expect(kind.verify(hostile)).rejects.toBeInstanceOf(SnapshotError);
    const refusal: unknown = await kind.restore(store, hostile).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(SnapshotError);
    expect(refusal).toMatchObject({
      fault: expect.stringMatching(/^(malformed|invalid|over_limit)$/),
      place: { line: expect.any(Number) },
    });
    expect(await contentOf(store, kind)).toEqual(before);
  });
});
