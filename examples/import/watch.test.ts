import { describe, expect, test } from 'vitest';
import type { StoredDocument } from './client.ts';
import { type Edition, type Look, Watch } from './watch.ts';

const first: Edition = { importId: 'v1', sourceVersion: 1, documents: 3 };
const second: Edition = { importId: 'v2', sourceVersion: 2, documents: 3 };

type Seen = Awaited<ReturnType<Look>>;

const documentsOf = ({ importId, sourceVersion, documents }: Edition): StoredDocument[] =>
  Array.from({ length: documents }, (_, n) => ({
    documentType: 'part',
    id: `${importId}:${n}`,
    revision: 1,
    deleted: false,
    data: { importId, edition: sourceVersion },
    indexes: {},
  }));
const whole = (edition: Edition): Seen => ({
  manifest: { importId: edition.importId },
  documents: documentsOf(edition),
});

/** Watches these looks in order, with both editions allowed; throws the watch's error. */
async function watched(...sights: readonly Seen[]): Promise<Watch> {
  const rest = [...sights];
  const last = Promise.withResolvers<void>();
  const watch: Watch = new Watch(async () => {
    const sight = rest.shift();
    if (rest.length === 0) last.resolve();
    return sight === undefined ? (sights.at(-1) ?? null) : sight;
  });
  watch.allow(first);
  watch.allow(second);
  await last.promise;
  await watch.stop();
  return watch;
}

test('nothing, then one edition, then the other: that is as it should be', async () => {
  const watch = await watched(null, null, whole(first), whole(second), whole(second));
  expect(watch.counts.slice(0, 2)).toEqual([2, 1]);
});

describe('a reader is found that sees', () => {
  const some = (documents: StoredDocument[]): Seen => ({ manifest: { importId: 'v1' }, documents });
  test.each<[string, readonly Seen[]]>([
    ['a part of an edition', [some(documentsOf(first).slice(1))]],
    ['nothing of an edition that is published', [some([])]],
    ['two editions at once', [some([...documentsOf(first), ...documentsOf(second)])]],
    ['documents of one under the name of another', [some(documentsOf(second))]],
    ['a document twice', [some([...documentsOf(first).slice(1), ...documentsOf(first).slice(2)])]],
    [
      'a document that was written twice',
      [some(documentsOf(first).map((each) => ({ ...each, revision: 2 })))],
    ],
    ['an edition that was never published', [whole({ ...first, importId: 'v3' })]],
    ['nothing after something', [whole(first), null]],
    ['an earlier edition again', [whole(second), whole(first)]],
  ])('%s', async (_, sights) => {
    await expect(watched(...sights)).rejects.toThrow('a reader saw');
  });
});

test('a failed read rejects every wait for the next observation', async () => {
  const watch = new Watch(() => Promise.reject(new Error('the service is gone')));
  await expect(watch.seen()).rejects.toThrow('the service is gone');
  await expect(watch.seen()).rejects.toThrow('the service is gone');
});
