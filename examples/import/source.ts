import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ImportName, Item, Source } from './shapes.ts';

/**
 * A file of JSON lines as a source. A first read computes its hash and line count; later reads check both, so that a
 * file that changed meanwhile is not published.
 */
export async function fileSource(
  path: string,
  name: ImportName,
  itemOf: (line: string) => Item,
): Promise<Source> {
  const before = createHash('sha256');
  let expectedCount = 0;
  for await (const _ of linesOf(path, before)) expectedCount += 1;
  const sourceHash = hashText(before);
  return {
    ...name,
    expectedCount,
    sourceHash,
    async *items() {
      const now = createHash('sha256');
      for await (const line of linesOf(path, now)) yield itemOf(line);
      if (hashText(now) !== sourceHash) throw new Error(`${path} changed while it was imported`);
    },
  };
}

/** The non-empty lines; every byte enters the hash. */
async function* linesOf(path: string, hash: Hash): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  for await (const bytes of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(bytes);
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line.trim() !== '');
  }
  rest += decoder.decode();
  if (rest.trim() !== '') yield rest;
}

function hashText(hash: Hash): string {
  return `sha256:${hash.digest('hex')}`;
}
