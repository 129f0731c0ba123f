import { openFileBlobs } from '../../functions/blobs/files/store.ts';
import { BlobError } from '../../functions/blobs/port.ts';
import { machine } from '../../functions/compose/machine.ts';
import { contentOf, sharedKey, writerAttributes } from './blobs-files-content.ts';

/**
 * A process that puts and removes until it is killed, and prints its acknowledged calls: `put <key>` and their number,
 * `lost <key>` where another writer's object was there, `removing <prefix>` before a removal and `removed <prefix>` after
 * it.
 */

const [folder = '', writer = '', from = '0'] = process.argv.slice(2);
const store = await openFileBlobs({ folder, ...machine });
let next = Number(from);
let acknowledged = 0;

// Written to a pipe at once, so that every line before the kill arrives.
const print = (line: string) => process.stdout.write(`${line}\n`);

async function put(key: string): Promise<void> {
  const content = contentOf(writer, key);
  try {
    await store.put(key, content, writerAttributes(content));
    print(`put ${key}`);
    acknowledged += 1;
    print(`acknowledged ${acknowledged}`);
  } catch (error) {
    if (!(error instanceof BlobError) || error.failure !== 'conflict') throw error;
    print(`lost ${key}`);
  }
}

async function lane(): Promise<never> {
  for (;;) {
    const number = next++;
    await put(sharedKey(number));
    const prefix = `removed/${writer}-${number}/`;
    await Promise.all(['a', 'b', 'c'].map((name) => put(`${prefix}${name}.bin`)));
    if (number % 3 !== 0) continue;
    print(`removing ${prefix}`);
    await store.removeAll(prefix);
    print(`removed ${prefix}`);
  }
}

await Promise.all([lane(), lane(), lane()]);
