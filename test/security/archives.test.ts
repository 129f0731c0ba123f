import { execFileSync } from 'node:child_process';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { archiveDirectory, writeArchiveDirectory } from '../../cli/archive-directory.ts';
import { ToolError } from '../../cli/output.ts';
import {
  CHUNK_BYTES_MAX,
  MANIFEST_BYTES_MAX,
  MANIFEST_NAME,
  STORED_CHUNK_BYTES_MAX,
} from '../../functions/archives/chunk-list.ts';
import { sealed } from '../../functions/archives/manifest.ts';
import { SnapshotError } from '../../functions/archives/snapshot-error.ts';
import { machine } from '../../functions/compose/machine.ts';
import { type ArchiveManifest } from '../../functions/groups/canonical/copies/snapshot/manifest.ts';
import {
  exportTenantArchive,
  restoreTenantArchive,
} from '../../functions/groups/canonical/copies/tenant-archives.ts';
import { exportTenant } from '../../functions/groups/canonical/copies/tenant-copies.ts';
import { collections } from '../../functions/groups/canonical/records.ts';
import { canonicalJson, sha256 } from '../../functions/kernel/canonical-json.ts';
import type { RecordStore } from '../../functions/store/port.ts';
import { openSqliteStore } from '../../functions/store/sqlite/store.ts';
import { TenantClient } from '../support/canonical.ts';
import { cases, seedOf } from '../support/effort.ts';
import { inFolder, SAMPLE_TENANT, sampleDatabase } from '../support/operator-tool.ts';

/**
 * Folders from an untrusted source, restored over a tenant that has changed since: a refused restore leaves it unchanged.
 */

const first = 'chunk-000000.bin';
const last = 'chunk-000004.bin';
const now = machine.clock.now();

let home: string;
let pristine: string;
let store: RecordStore;
let live: string;
let manifest: ArchiveManifest;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'svc-archives-'));
  pristine = join(home, 'pristine');
  const path = await sampleDatabase(join(home, 'a.sqlite'));
  store = await openSqliteStore({ path, ...machine, collections });
  manifest = await writeArchiveDirectory(pristine, (sink) =>
    exportTenantArchive(store, SAMPLE_TENANT, sink, { now, chunkBytes: 1_900 }),
  );
  const client = new TenantClient(store, SAMPLE_TENANT);
  await client.commit({ mutations: [client.upsert('since')] });
  live = await hash();
});

afterAll(async () => {
  await store.close();
  await rm(home, { recursive: true });
});

async function hash(): Promise<string> {
  return (await exportTenant(store, SAMPLE_TENANT, { now })).contentHash;
}

async function restore(directory: string, tenantId = SAMPLE_TENANT, expectedContentHash?: string) {
  const options = expectedContentHash === undefined ? {} : { expectedContentHash };
  return restoreTenantArchive(store, tenantId, await archiveDirectory(directory), options);
}

/** Restores a changed copy of the archive; gives what it was refused for. */
async function refused(
  change: (directory: string, folder: string) => unknown,
  how: { tenantId?: string; expectedContentHash?: string } = {},
): Promise<string> {
  return inFolder(async (folder) => {
    const directory = join(folder, 'archive');
    await cp(pristine, directory, { recursive: true });
    await writeFile(join(folder, 'outside'), 'precious');
    await change(directory, folder);
    const around = (await readdir(folder)).sort();
    const error: unknown = await restore(directory, how.tenantId, how.expectedContentHash).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toSatisfy((thrown) => thrown instanceof SnapshotError || thrown instanceof ToolError);
    expect(await hash()).toBe(live);
    expect(String(await readFile(join(folder, 'outside')))).toBe('precious');
    expect((await readdir(folder)).sort()).toEqual(around);
    return (error as Error).message;
  });
}

/** A manifest that says `changes`, and names itself rightly. */
async function reseal(directory: string, changes: object): Promise<void> {
  const { contentHash: _, ...content } = manifest;
  await writeFile(join(directory, MANIFEST_NAME), canonicalJson(sealed({ ...content, ...changes })));
}

/** Another content of a chunk, and a manifest that knows it. */
async function replaceChunk(directory: string, index: number, content: Uint8Array): Promise<void> {
  const { chunks } = manifest;
  const chunk = chunks[index];
  if (chunk === undefined) throw new Error('no such chunk');
  await writeFile(join(directory, `chunk-00000${index}.bin`), content);
  await reseal(directory, {
    chunks: chunks.with(index, { ...chunk, bytes: content.byteLength, hash: sha256(content) }),
  });
}

test('the archive that the attacks begin with has five chunks and restores', async () => {
  expect((await readdir(pristine)).sort()).toEqual([
    first,
    'chunk-000001.bin',
    'chunk-000002.bin',
    'chunk-000003.bin',
    last,
    MANIFEST_NAME,
  ]);
  await inFolder(async (folder) => {
    const path = join(folder, 'b.sqlite');
    const other = await openSqliteStore({ path, ...machine, collections });
    try {
      await restoreTenantArchive(other, SAMPLE_TENANT, await archiveDirectory(pristine));
      const { contentHash } = await exportTenant(other, SAMPLE_TENANT, { now });
      expect(contentHash).toBe(manifest.snapshotContentHash);
    } finally {
      await other.close();
    }
  });
  expect(live).not.toBe(manifest.snapshotContentHash);
});

describe('M01: names that lead out of the archive', () => {
  const names = [
    '../outside',
    '/etc/hostname',
    '..\\outside',
    'CON',
    'chunk-000000.bin\0',
    'CHUNK-000000.BIN',
  ];
  test.each(names)('a chunk that the manifest calls %j', async (name) => {
    const chunks = manifest.chunks.map((each) => ({ ...each, name }));
    const refusal = await refused((directory) => reseal(directory, { chunks }));
    expect(refusal).toBe('manifest.json /chunks/0: has an unknown member');
  });

  test.each([-1, 0.5, 1e21, '0', '../outside', null])('a chunk with the index %j', async (index) => {
    const refusal = await refused((directory) =>
      reseal(directory, { chunks: manifest.chunks.map((each, n) => (n === 1 ? { ...each, index } : each)) }),
    );
    expect(refusal).toBe('manifest.json /chunks/1/index: must be its position in the list');
  });

  test.each(['notes.txt', 'CHUNK-000000.BIN', '..\\outside', 'chunk-000000.bin ', 'CON', 'a\nb'])(
    'a file %j beside the chunks',
    async (name) => {
      const refusal = await refused((directory) => writeFile(join(directory, name), 'x'));
      expect(refusal).toBe(`${JSON.stringify(name)} is no part of an archive`);
    },
  );

  test('an archive of a tenant whose name is a path', async () => {
    const refusal = await refused((directory) => reseal(directory, { tenantId: '../acme' }));
    expect(refusal).toContain('manifest.json /tenantId');
  });
});

describe('M02: what is no plain file', () => {
  const surprises: [string, (path: string, folder: string) => unknown][] = [
    ['a link to the same content', (path, folder) => symlink(join(folder, 'copy'), path)],
    ['a link out of the folder', (path, folder) => symlink(join(folder, 'outside'), path)],
    ['a link to a folder', (path, folder) => symlink(folder, path)],
    ['a link to a device without end', (path) => symlink('/dev/zero', path)],
    ['a folder', (path) => mkdir(path)],
    ['a pipe without a writer', (path) => execFileSync('mkfifo', [path])],
  ];
  describe.each([MANIFEST_NAME, first, last])('in the place of %s', (name) => {
    test.each(surprises)('%s', async (_, put) => {
      const refusal = await refused(async (directory, folder) => {
        await rename(join(directory, name), join(folder, 'copy'));
        await put(join(directory, name), folder);
      });
      expect(refusal).toBe(`${name}: is not a plain file`);
    });
  });
});

describe('M03: more than an archive may be', () => {
  test('a manifest of a terabyte', async () => {
    const refusal = await refused((directory) => truncate(join(directory, MANIFEST_NAME), 2 ** 40));
    expect(refusal).toBe(`manifest.json: is larger than ${MANIFEST_BYTES_MAX} bytes`);
  });

  test('a chunk of a terabyte', async () => {
    const refusal = await refused((directory) => truncate(join(directory, first), 2 ** 40));
    expect(refusal).toBe(`${first}: is larger than ${STORED_CHUNK_BYTES_MAX} bytes`);
  });

  test('a million chunks', async () => {
    // Each chunk is as short as can be: a million real ones would be more than a manifest may have bytes.
    const chunks = Array.from({ length: 1_000_000 }, () => 0);
    const refusal = await refused((directory) => reseal(directory, { chunks }));
    expect(refusal).toBe('manifest.json /chunks: must hold at most 100000 items');
  });

  test('a chunk that unpacks to more than the largest', async () => {
    const bomb = gzipSync(Buffer.alloc(CHUNK_BYTES_MAX + 1, '\n'));
    expect(bomb.byteLength).toBeLessThan(100_000);
    const refusal = await refused((directory) => replaceChunk(directory, 1, bomb));
    expect(refusal).toBe(`chunk-000001.bin: unpacks to more than ${CHUNK_BYTES_MAX} bytes`);
  });

  test('a manifest that promises larger chunks', async () => {
    const refusal = await refused((directory) =>
      reseal(directory, {
        chunks: manifest.chunks.map((each) => ({ ...each, bytes: STORED_CHUNK_BYTES_MAX + 1 })),
      }),
    );
    expect(refusal).toContain('manifest.json /chunks/0/bytes: must be at most');
  });
});

describe('M04: one bit flipped', () => {
  const tried = cases(65);
  test.each([MANIFEST_NAME, first, 'chunk-000001.bin', 'chunk-000002.bin', 'chunk-000003.bin', last])(
    `in %s, at ${tried} places`,
    async (name) => {
      const content = await readFile(join(pristine, name));
      const messages = await inFolder(async (directory) => {
        await cp(pristine, directory, { recursive: true });
        const refusals: string[] = [];
        for (const place of placesIn(name, content.byteLength * 8)) {
          const flipped = Buffer.from(content);
          flipped[place >> 3] = (flipped[place >> 3] ?? 0) ^ (1 << (place & 7));
          await writeFile(join(directory, name), flipped);
          refusals.push(await restore(directory).then(() => `bit ${place} went by`, String));
        }
        return refusals;
      });
      expect(messages.filter((text) => !text.startsWith(`SnapshotError: ${name}`))).toEqual([]);
      expect(await hash()).toBe(live);
    },
  );

  /** Both ends, where heads and sums stand, and places all over. */
  function placesIn(name: string, bits: number): number[] {
    const places = [0, 7, bits - 1, bits - 40, bits - 70];
    let at = seedOf(name) >>> 0;
    while (places.length < tried) {
      at = (Math.imul(at, 1_664_525) + 1_013_904_223) >>> 0;
      places.push(at % bits);
    }
    return places;
  }

  test('in each hash of a manifest that names itself rightly', async () => {
    const flipped = (text: string) => text.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    const refusal = await refused((directory) =>
      reseal(directory, { snapshotContentHash: flipped(manifest.snapshotContentHash) }),
    );
    expect(refusal).toBe('manifest.json /snapshotContentHash: is not the hash of the lines');
    for (const [n, chunk] of manifest.chunks.entries()) {
      const chunks = manifest.chunks.with(n, { ...chunk, hash: flipped(chunk.hash) });
      const other = await refused((directory) => reseal(directory, { chunks }));
      expect(other).toBe(`chunk-00000${n}.bin: is not the chunk that the manifest names`);
    }
  });
});

describe('M05: chunks that are missing, added, reordered or repeated', () => {
  test.each([first, 'chunk-000001.bin', last, MANIFEST_NAME])('without %s', async (name) => {
    expect(await refused((directory) => rm(join(directory, name)))).toBe(`${name}: is missing`);
  });

  test.each(['chunk-000005.bin', 'chunk-999999.bin'])('with %s more', async (name) => {
    const refusal = await refused((directory) => cp(join(directory, first), join(directory, name)));
    expect(refusal).toBe('the archive holds an object that its manifest does not name');
  });

  test('with two exchanged', async () => {
    const refusal = await refused(async (directory) => {
      await cp(join(pristine, 'chunk-000002.bin'), join(directory, 'chunk-000001.bin'));
      await cp(join(pristine, 'chunk-000001.bin'), join(directory, 'chunk-000002.bin'));
    });
    expect(refusal).toBe('chunk-000001.bin: is not the chunk that the manifest names');
  });

  test('with two exchanged, and a manifest that knows it', async () => {
    const refusal = await refused(async (directory) => {
      await cp(join(pristine, 'chunk-000002.bin'), join(directory, 'chunk-000001.bin'));
      await cp(join(pristine, 'chunk-000001.bin'), join(directory, 'chunk-000002.bin'));
      const [head, b, c, ...rest] = manifest.chunks;
      await reseal(directory, { chunks: [head, { ...c, index: 1 }, { ...b, index: 2 }, ...rest] });
    });
    expect(refusal).toMatch(/^line \d+: comes after a record that it must precede/);
  });

  test('with one twice, and a manifest that knows it', async () => {
    const refusal = await refused(async (directory) => {
      await cp(join(pristine, last), join(directory, 'chunk-000005.bin'));
      const repeated = { ...manifest.chunks[4], index: 5 };
      await reseal(directory, { chunks: [...manifest.chunks, repeated] });
    });
    expect(refusal).toMatch(/^line \d+: /);
  });

  test('with the last one left out, and a manifest that knows it', async () => {
    const refusal = await refused(async (directory) => {
      await rm(join(directory, last));
      await reseal(directory, { chunks: manifest.chunks.slice(0, -1) });
    });
    expect(refusal).toBe('manifest.json /snapshotContentHash: is not the hash of the lines');
  });
});

describe('M06: another tenant, another format', () => {
  test('the archive of another tenant', async () => {
    const refusal = await refused(() => undefined, { tenantId: 'tenant-b' });
    expect(refusal).toContain('manifest.json /tenantId');
    expect((await exportTenant(store, 'tenant-b', { now })).documents).toEqual([]);
  });

  test('the archive of another tenant under a manifest of this one', async () => {
    const refusal = await refused((directory) => reseal(directory, { tenantId: 'tenant-b' }), {
      tenantId: 'tenant-b',
    });
    expect(refusal).toContain('line 1 /tenantId');
  });

  test.each(['svc.canonical.archive.v2', 'svc.canonical.archive.v10'])('the profile %s', async (profile) => {
    const refusal = await refused((directory) => reseal(directory, { profile, more: 1 }));
    expect(refusal).toBe('manifest.json /profile: is newer than svc.canonical.archive.v1');
  });

  test.each(['svc.canonical.archive.v0', 'other.archive.v1', ''])('the profile %j', async (profile) => {
    expect(await refused((directory) => reseal(directory, { profile }))).toContain('manifest.json /profile');
  });
});

test('M07: another hash than expected', async () => {
  for (const expectedContentHash of [manifest.snapshotContentHash, `sha256:${'0'.repeat(64)}`]) {
    const refusal = await refused(() => undefined, { expectedContentHash });
    expect(refusal).toBe('manifest.json /contentHash: is not the archive that was expected');
  }
});

test('M07: an archive that was made over, in a folder that was trusted', async () => {
  const refusal = await refused(
    async (directory) => {
      const chunks = manifest.chunks.slice(0, 1);
      await reseal(directory, { chunks });
    },
    { expectedContentHash: manifest.contentHash },
  );
  expect(refusal).toBe('manifest.json /contentHash: is not the archive that was expected');
});

test('M08: the same restore twice, and once more beside itself', () =>
  inFolder(async (folder) => {
    const path = await sampleDatabase(join(folder, 'c.sqlite'));
    const other = await openSqliteStore({ path, ...machine, collections });
    try {
      const source = await archiveDirectory(pristine);
      const expectedContentHash = manifest.contentHash;
      const again = () => restoreTenantArchive(other, SAMPLE_TENANT, source, { expectedContentHash });
      const hashes: string[] = [];
      for (const _ of [1, 2]) {
        await again();
        hashes.push((await exportTenant(other, SAMPLE_TENANT, { now })).contentHash);
      }
      await Promise.all([again(), again()]);
      hashes.push((await exportTenant(other, SAMPLE_TENANT, { now })).contentHash);
      expect(new Set(hashes)).toEqual(new Set([manifest.snapshotContentHash]));
    } finally {
      await other.close();
    }
  }));
