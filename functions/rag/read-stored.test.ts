import { expect, test } from 'vitest';
import { RecordsStage } from '../../test/conformance/records-stage.ts';
import { MemoryDatabase } from '../../test/simulation/memory-database.ts';
import { MemoryStore } from '../../test/simulation/memory-store.ts';
import { finish } from '../../test/support/finish.ts';
import { ingestDocument } from './ingest.ts';
import { readStored, readVectors } from './read-stored.ts';
import { cutDocument } from './rules/cut-document.ts';
import { documentOf } from './rules/ingest.fixture.ts';

const COUNT = 120;
const NOTE_BYTES = 100_000;
const sentences = Array.from({ length: COUNT }, (_, at) => `Sentence ${1_000 + at} stands here.`);
const documentWith = (options: object, partitionKey = 'p') =>
  documentOf({
    documentId: 'd',
    partitionKey,
    text: sentences.join(' '),
    metadata: { note: 'n'.repeat(NOTE_BYTES) },
    options: { chunkChars: 30, chunkOverlapChars: 0, ...options },
  });

async function stageWithChunks(): Promise<RecordsStage> {
  const stage = new RecordsStage(new MemoryStore(new MemoryDatabase()));
  await stage.create({
    name: 'notes',
    vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 8 }],
  });
  return stage;
}

const embed = (texts: readonly string[]) => Promise.resolve(texts.map(() => new Float32Array(8).fill(1)));

/** Counts the bytes that a call reports as held. */
function counter() {
  const counted = { bytes: 0 };
  return { counted, call: { grow: (bytes: number) => void (counted.bytes += bytes) } };
}

test('the records that a plan reads are counted while they are in memory, and little of them is kept', async () => {
  const stage = await stageWithChunks();
  await ingestDocument(stage.parts, stage.space, documentWith({}), { embed });
  // After the records of the partition, a page has others, which end the read.
  await ingestDocument(stage.parts, stage.space, documentWith({}, 'q'), { embed });
  const keys = documentWith({});
  const chunks = finish(cutDocument(keys));
  expect(chunks).toHaveLength(COUNT);

  const byKeys = counter();
  const { stored } = await readStored(stage.parts, stage.space, keys, chunks, byKeys.call);
  const found = chunks.map(({ id }) => stored.at({ partitionKey: 'p', id }));
  expect(found.every((each) => each !== null)).toBe(true);
  expect(JSON.stringify(found).length).toBeLessThan(COUNT * 1_500);
  // Some of the bodies at a time, never all of them.
  expect(byKeys.counted.bytes).toBeGreaterThan(10 * NOTE_BYTES);
  expect(byKeys.counted.bytes).toBeLessThan(COUNT * NOTE_BYTES * 0.6);

  const all = {
    replaceDocumentChunks: true,
    deduplicateExistingChunks: true,
    reuseExistingChunkVectors: true,
  };
  const byIndexes = counter();
  const more = await readStored(stage.parts, stage.space, documentWith(all), chunks, byIndexes.call);
  const lists = [more.stored.ofDocument, chunks.map(({ textHash }) => more.stored.withText(textHash))];
  expect(JSON.stringify(lists).length).toBeLessThan(2 * COUNT * 1_500);
  expect(byIndexes.counted.bytes).toBeLessThan(COUNT * NOTE_BYTES * 0.6);

  const lent = counter();
  const vectors = await readVectors(
    stage.parts,
    stage.space,
    keys,
    chunks.map(({ id }) => ({ partitionKey: 'p', id })),
    lent.call,
  );
  expect(vectors.filter((each) => each !== null)).toHaveLength(COUNT);
  expect(lent.counted.bytes).toBeGreaterThan(10 * NOTE_BYTES);
  expect(lent.counted.bytes).toBeLessThan(COUNT * NOTE_BYTES * 0.6);
});

test('a stored text with half a code point has no hash: it equals no text of a document', async () => {
  const stage = await stageWithChunks();
  const document = documentOf({ documentId: 'd', text: 'a\ufffd' });
  const chunks = finish(cutDocument(document));
  const [{ id } = { id: '' }] = chunks;
  const read = async () => {
    const { stored } = await readStored(stage.parts, stage.space, document, chunks);
    return stored.at({ partitionKey: 'p', id })?.contentHash;
  };
  await stage.put('notes', `{"partitionKey":"p","id":"${id}","content":{"text":"a\\ud800"}}`);
  expect(await read()).toBeNull();
  await stage.put('notes', { partitionKey: 'p', id, content: { text: 'a\ufffd' } });
  expect(await read()).toBe(chunks[0]?.textHash);
});
