import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type Cut, feedClient, feedServer, feedStream, type Taken } from '../support/small-pieces.ts';
import { type StreamReader, streamReaders, testedElsewhere } from './stream-readers.ts';

const root = resolve(import.meta.dirname, '../..');
const BYTES = { chunks: 32 * 1024, segments: 6_000 };
/** A list of pieces takes some 300 bytes for each byte. */
const FACTOR = 3;
/** Room for other memory of the process, such as compiled code: a list takes at least 1.8 MB. */
const NOISE_BYTES = 512 * 1024;

test.each(streamReaders)(
  '$name takes no more memory and no more work in pieces of a byte than in large ones',
  async (reader) => {
    const { feed, close } = await opened(reader);
    try {
      // The first one loads what the reader needs.
      await feed('whole', BYTES.chunks);
      const large = await feed('whole', BYTES.chunks);
      for (const cut of ['chunks', 'segments'] as const) {
        const small = await feed(cut, BYTES[cut]);
        expect(small.held, cut).toBeLessThan(FACTOR * Math.max(BYTES[cut], large.held) + NOISE_BYTES);
        expect(small.work, cut).toBeLessThan(FACTOR * Math.max(BYTES[cut], large.work));
      }
    } finally {
      await close();
    }
  },
);

interface Opened {
  /** Feeds the reader such a body once, and answers what it takes. */
  readonly feed: (cut: Cut, bytes: number) => Promise<Taken>;
  readonly close: () => Promise<unknown>;
}

async function opened(reader: StreamReader): Promise<Opened> {
  const close = () => Promise.resolve();
  if ('call' in reader) return { feed: (cut, bytes) => feedClient(reader.call, cut, bytes), close };
  if ('read' in reader) return { feed: (cut, bytes) => feedStream(reader.read, cut, bytes), close };
  const served = await reader.serve();
  return {
    feed: (cut, bytes) => feedServer(served.port, served.head, cut, bytes),
    close: () => served.close(),
  };
}

test('the list has every file that gathers a stream', () => {
  const gathers = /\b(?:gatherBytes|ByteBlocks|PieceCount|GatheredBytes)\b|\.getReader\(\)/;
  const files = globSync('{functions,cli,dispatcher,emulator,sdk/typescript/src}/**/*.ts', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !/\.(test|fixture)\.ts$/.test(path))
    .filter((path) => gathers.test(readFileSync(join(root, path), 'utf8')));
  const listed = new Set([...streamReaders.map(({ source }) => source), ...Object.keys(testedElsewhere)]);
  expect(files).toContain('functions/kernel/byte-blocks.ts');
  expect(files.filter((path) => !listed.has(path))).toEqual([]);
});
