import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import type { BlobStore } from '../../functions/blobs/port.ts';
import { machine } from '../../functions/compose/machine.ts';
import { describeBlobStore, type OpenedBlobs } from './blobs.ts';

describeBlobStore('files', openTemporary);

async function openTemporary(): Promise<OpenedBlobs> {
  const above = await mkdtemp(join(tmpdir(), 'blobs-'));
  const folder = join(above, 'new', 'objects');
  const opened: BlobStore[] = [];
  const again = async () => {
    const store = await openFileBlobs({ folder, ...machine });
    opened.push(store);
    return store;
  };
  return {
    store: await again(),
    again,
    async damage(key) {
      const path = join(folder, key);
      const content = await readFile(path);
      const middle = content.length >> 1;
      content[middle] = (content[middle] ?? 0) ^ 1;
      await writeFile(path, content);
    },
    async close() {
      for (const store of opened) await store.close();
      await rm(above, { recursive: true });
    },
  };
}
