import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Connection } from './connection.ts';
import { DiskRoom } from './room.ts';

let folder = '';
let connection: Connection;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'room-'));
  connection = new Connection(join(folder, 'store.db'), { readOnly: false, busyTimeoutMs: 0 });
});
afterAll(async () => {
  connection.close();
  await rm(folder, { recursive: true });
});

const record = (body: string) => ({ key: { collection: 'documents', id: '0' }, head: {}, body });

describe('the room on a disk', () => {
  test('is the free space of the file system: a larger load is refused', async () => {
    const room = new DiskRoom(join(folder, 'store.db'));
    const { bavail, bsize } = await statfs(folder);
    expect(room.isShort(connection)).toBe(false);
    expect(room.checkWrite(connection, 0)).toBe(true);
    room.checkLoad(connection, [record('{}')]);
    // Claims a body as large as the disk: a real one would not fit into memory.
    const huge = { ...record(''), body: { length: bavail * bsize } as unknown as string };
    expect(() => room.checkLoad(connection, [record('{}'), huge])).toThrow(
      expect.objectContaining({ failure: 'full' }),
    );
  });

  test('is unlimited on a file system that reports none, or is missing', () => {
    for (const path of ['/proc/store.db', join(folder, 'none/store.db')]) {
      const room = new DiskRoom(path);
      expect(room.logPages(4_000)).toBe(4_000);
      expect(room.isShort(connection)).toBe(false);
      expect(room.checkWrite(connection, 0)).toBe(true);
    }
  });
});
