import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { share } from '../../../../../test/support/effort.ts';
import { chunkName, MANIFEST_NAME } from '../../../../archives/chunk-list.ts';
import { compareKeys } from '../../../../archives/line-reader.ts';
import { fenceKey } from '../../records.ts';
import { openArchive, writeTenantArchive } from './archive.ts';
import { Objects, sample } from './archive-objects.fixture.ts';
import { type SnapshotLine, snapshotLines } from './lines.ts';
import { collected, eachOf, faultOf, linesIn, sampleTenant, TENANT } from './tenants.fixture.ts';

/** Another spelling of the same lines, which reading them a second time would not notice. */
function respelled(chunk: Uint8Array | undefined): string {
  return gunzipSync(chunk ?? Buffer.alloc(0))
    .toString()
    .replaceAll('":', '": ');
}

describe('an archive that was checked', () => {
  test('gives the same records, having reported of each', async () => {
    const objects = await sample();
    const archive = await openArchive('tenant-a', objects);
    let reported = 0;
    await archive.check(() => {
      reported += 1;
    });
    // Checking is not yet reading: a swap that took none of the records must not be let through.
    await faultOf('incomplete', archive.verify);
    const records = await collected(archive.records);
    archive.verify();
    expect(reported).toBe(records.length);
    expect(records).toEqual(await collected((await openArchive('tenant-a', objects)).records));
  });

  test('is refused where another chunk has come into the place of one', async () => {
    const objects = await sample();
    const archive = await openArchive('tenant-a', objects);
    await archive.check();
    objects.set(chunkName(1), gzipSync(respelled(objects.get(chunkName(1)))));
    await faultOf('hash_mismatch', () => collected(archive.records));
    await faultOf('incomplete', archive.verify);
  });

  test('is refused where a chunk has gone', async () => {
    const objects = await sample();
    const archive = await openArchive('tenant-a', objects);
    await archive.check();
    objects.delete(chunkName(2));
    await faultOf('incomplete', () => collected(archive.records));
    await faultOf('incomplete', archive.verify);
  });

  test('and found bad is read strictly still', async () => {
    const objects = await sample();
    objects.replace(1, gzipSync(respelled(objects.get(chunkName(1)))));
    const archive = await openArchive('tenant-a', objects);
    await faultOf('malformed', archive.check);
    await faultOf('malformed', () => collected(archive.records));
  });
});

describe('while a chunk is under way', () => {
  const failure = new Error('no room');

  test('the failure of its writing ends the export, and nothing is written behind it', async () => {
    const names: string[] = [];
    const sink = {
      async write(name: string) {
        names.push(name);
        if (name === chunkName(1)) throw failure;
      },
    };
    const lines = await linesIn(await sampleTenant());
    await expect(writeTenantArchive('tenant-a', eachOf(lines), sink, 2048)).rejects.toBe(failure);
    expect(names).toEqual([chunkName(0), chunkName(1)]);
  });

  test('the failure of the lines is reported when it is written', async () => {
    const settled: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const sink = {
      async write(name: string) {
        await held;
        settled.push(name);
      },
    };
    const lines = await linesIn(await sampleTenant());
    const failing = async function* () {
      yield* lines.slice(0, 2);
      release();
      throw failure;
    };
    await expect(writeTenantArchive('tenant-a', failing(), sink, 1)).rejects.toBe(failure);
    expect(settled).toEqual([chunkName(0)]);
  });

  test('a reader that ends early waits for the chunk that is being fetched', async () => {
    const objects = await sample();
    let reading = 0;
    const source = {
      names: () => objects.names(),
      async read(name: string) {
        reading += 1;
        await new Promise((resolve) => setImmediate(resolve));
        reading -= 1;
        return objects.read(name);
      },
    };
    const archive = await openArchive('tenant-a', source);
    for await (const _ of archive.records) break;
    expect(reading).toBe(0);
  });
});

describe('many records pass', () => {
  const RECORDS = share(20_000, 200_000);
  const CHUNK = 64 * 1024;
  const values = Array.from({ length: RECORDS }, (_, n) => `v${n}`)
    .map((value) => ({ value, key: fenceKey('n', value) }))
    .sort((left, right) => compareKeys(left.key, right.key))
    .map(({ value }) => value);
  const head = {
    name: 'n',
    ownerDocumentType: 't',
    ownerDocumentId: 'i',
    createdAtUtc: '',
    updatedAtUtc: '',
  };
  const at = '2026-01-02T03:04:05.000Z';

  test('two chunks at a time, both ways', async () => {
    const objects = new Objects();
    let given = 0;
    let written = 0;
    let heldMax = 0;
    let lineMax = 0;
    const pages = async function* () {
      for (let from = 0; from < RECORDS; from += 100) {
        const page = values.slice(from, from + 100);
        const record = (value: string) => ({
          key: fenceKey('n', value),
          head: { ...head, value, createdAtUtc: at, updatedAtUtc: at },
        });
        yield { records: page.map(record) };
      }
    };
    const counted = async function* (lines: AsyncIterable<SnapshotLine>) {
      for await (const line of lines) {
        given += Buffer.byteLength(line.line);
        lineMax = Math.max(lineMax, Buffer.byteLength(line.line) + 1);
        heldMax = Math.max(heldMax, given - written);
        yield line;
      }
    };
    const sink = {
      write: async (name: string, content: Uint8Array) => {
        objects.set(name, content);
        if (name !== MANIFEST_NAME) written += gunzipSync(content).byteLength;
      },
    };
    const manifest = await writeTenantArchive(
      TENANT,
      counted(snapshotLines(TENANT, pages(), { now: 0 })),
      sink,
      CHUNK,
    );
    expect(manifest.counts.fences).toBe(RECORDS);
    expect(manifest.chunks.length).toBeGreaterThan(RECORDS / 400);
    // One that is filled and one that is being written.
    expect(heldMax).toBeLessThan(2 * CHUNK + lineMax);
    expect(heldMax).toBeGreaterThan(CHUNK / 2);

    const ends = manifest.chunks.map(({ records }, n) =>
      manifest.chunks.slice(0, n).reduce((sum, chunk) => sum + chunk.records, records),
    );
    let fetched = 0;
    const source = {
      names: () => objects.names(),
      read: (name: string) => {
        if (name !== MANIFEST_NAME) fetched += 1;
        return objects.read(name);
      },
    };
    const archive = await openArchive(TENANT, source);
    let delivered = 0;
    for await (const _ of archive.records) {
      delivered += 1;
      if (delivered > (ends[fetched - 1] ?? 0)) throw new Error('a record of a chunk that was not read');
      // The next one is on its way, and none behind it.
      if (fetched > 2 && delivered <= (ends[fetched - 3] ?? 0)) throw new Error('a chunk was read too early');
    }
    archive.verify();
    expect(delivered).toBe(RECORDS);
  });
});
