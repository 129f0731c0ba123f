import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { machine } from '../functions/compose/machine.ts';
import { makeSnapshot, readSnapshot } from '../functions/groups/canonical/copies/snapshot/snapshot.ts';
import { sampleTenant, scanned } from '../functions/groups/canonical/copies/snapshot/tenants.fixture.ts';
import { inFolder } from '../test/support/operator-tool.ts';
import {
  checkTarget,
  readJsonBytes,
  readSnapshotFile,
  snapshotText,
  writeStream,
  writeWhole,
} from './snapshot-file.ts';

const { random } = machine;
const noInput = Readable.from([]);

function* failing(): Generator<string> {
  yield 'half';
  throw new Error('went away');
}

async function sampleSnapshot() {
  const { store, client } = await sampleTenant();
  return makeSnapshot('tenant-a', scanned(store, 'tenant-a'), { now: client.clock.now });
}

describe('a file is written', () => {
  test('whole, for its owner alone, and nothing beside it', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'a.json');
      await writeWhole(path, ['one', 'two'], { force: false, random });
      expect(String(await readFile(path))).toBe('onetwo');
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readdir(folder)).toEqual(['a.json']);
    }));

  test('or not at all', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'a.json');
      await writeFile(path, 'before');
      await expect(writeWhole(path, failing(), { force: true, random })).rejects.toThrow('went away');
      const signal = AbortSignal.abort(new Error('stopped'));
      await expect(writeWhole(path, ['x'], { force: true, random, signal })).rejects.toThrow('stopped');
      expect(String(await readFile(path))).toBe('before');
      expect(await readdir(folder)).toEqual(['a.json']);
    }));

  test('over another only when asked to, also when that came meanwhile', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'a.json');
      await checkTarget(path, false);
      await writeFile(path, 'before');
      await expect(checkTarget(path, false)).rejects.toMatchObject({ exitCode: 4 });
      await expect(writeWhole(path, ['x'], { force: false, random })).rejects.toMatchObject({ exitCode: 4 });
      expect(String(await readFile(path))).toBe('before');
      await checkTarget(path, true);
      await writeWhole(path, ['after'], { force: true, random });
      expect(String(await readFile(path))).toBe('after');
      expect(await readdir(folder)).toEqual(['a.json']);
    }));

  test('over no link, folder or device, even when asked to', () =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'precious'), 'x');
      await symlink(join(folder, 'precious'), join(folder, 'link'));
      await mkdir(join(folder, 'sub'));
      for (const path of [join(folder, 'link'), join(folder, 'sub'), '/dev/null']) {
        await expect(checkTarget(path, true)).rejects.toThrow('is not a plain file');
      }
    }));

  test('into no folder that is missing', () =>
    inFolder(async (folder) => {
      const writing = writeWhole(join(folder, 'no', 'a.json'), ['x'], { force: false, random });
      const noFolder = { message: `${join(folder, 'no')}: there is no such folder`, exitCode: 3 };
      await expect(writing).rejects.toMatchObject(noFolder);
      await expect(checkTarget(join(folder, 'no', 'a.json'), true)).rejects.toMatchObject(noFolder);
    }));

  test.skipIf(process.getuid?.() === 0)(
    'into no folder that is not ours, which is what is named (skipped for root, who may write anywhere)',
    () =>
      inFolder(async (folder) => {
        await chmod(folder, 0o500);
        const writing = writeWhole(join(folder, 'a.json'), ['x'], { force: false, random });
        await expect(writing).rejects.toMatchObject({ code: 'EACCES', path: folder });
        await chmod(folder, 0o700);
      }),
  );
});

test('the written text is the snapshot, one record on each line', async () => {
  const snapshot = await sampleSnapshot();
  const text = [...snapshotText(snapshot)].join('');
  expect(JSON.parse(text)).toEqual(snapshot);
  expect(Object.keys(JSON.parse(text) as object)).toEqual(Object.keys(snapshot));
  const { documents, revisions, fences, outbox, transactions } = snapshot;
  const records = [documents, revisions, fences, outbox, transactions].map(({ length }) => length);
  // Three plain members, and five lists that start on a line of their own.
  expect(text.trim().split('\n')).toHaveLength(records.reduce((sum, count) => sum + count, 0) + 3 + 5);
});

test('M10: the same content in another order is the same content', () =>
  inFolder(async (folder) => {
    const snapshot = await sampleSnapshot();
    const turned = (value: unknown): unknown =>
      typeof value !== 'object' || value === null || Array.isArray(value)
        ? value
        : Object.fromEntries(Object.entries(value).toReversed());
    const other = JSON.stringify(
      { ...snapshot, documents: snapshot.documents.map(turned), outbox: snapshot.outbox.toReversed() },
      (_, value: unknown) => turned(value),
      2,
    );
    await writeFile(join(folder, 'a.json'), other);
    const read = await readSnapshotFile(join(folder, 'a.json'), noInput);
    expect(JSON.stringify(read)).not.toBe(JSON.stringify(snapshot));
    expect(readSnapshot('tenant-a', read).contentHash).toBe(snapshot.contentHash);
  }));

describe('a snapshot is read', () => {
  test('from a file, and from standard input', () =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'a.json'), '{"a":1}');
      expect(await readSnapshotFile(join(folder, 'a.json'), noInput)).toEqual({ a: 1 });
      expect(await readSnapshotFile('-', Readable.from([Buffer.from('{"a"'), Buffer.from(':1}')]))).toEqual({
        a: 1,
      });
    }));

  test('from no file that is missing', async () => {
    await expect(readSnapshotFile('/nowhere/a.json', noInput)).rejects.toMatchObject({ exitCode: 3 });
  });

  const broken: [string, string | Buffer, string][] = [
    ['is no JSON', '{"a":', 'malformed'],
    ['names a member twice', '{"a":1,"a":2}', 'malformed'],
    ['is no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'malformed'],
    ['is nested without end', '['.repeat(10_000), 'malformed'],
  ];
  test.each(broken)('from none that %s', (_, content, fault) =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'a.json'), content);
      await expect(readSnapshotFile(join(folder, 'a.json'), noInput)).rejects.toMatchObject({ fault });
    }),
  );

  test('from none that is too large: the command refuses it before it has read the whole file', async () => {
    let given = 0;
    const endless = new Readable({
      read() {
        given += 1;
        this.push(Buffer.alloc(1024));
      },
    });
    await expect(readJsonBytes('-', endless, 4_096)).rejects.toThrow(
      'standard input: is larger than 4096 bytes',
    );
    expect(given).toBeLessThan(200);
  });
});

test('a stream that is cut says why', async () => {
  const stream = new PassThrough();
  stream.resume();
  await writeStream(stream, ['a', 'b'], new AbortController().signal);
  expect(stream.writableEnded).toBe(false);
  const reason = new Error('stop');
  await expect(writeStream(new PassThrough(), ['a'], AbortSignal.abort(reason))).rejects.toMatchObject({
    cause: reason,
  });
});

test.skipIf(process.getuid?.() === 0)(
  'a file that may not be read is named (skipped for root, who may read anything)',
  () =>
    inFolder(async (folder) => {
      const path = join(folder, 'a.json');
      await writeFile(path, '{}');
      await chmod(path, 0);
      await expect(readSnapshotFile(path, noInput)).rejects.toMatchObject({ code: 'EACCES', path });
    }),
);
