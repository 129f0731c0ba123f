import { describe, expect, test } from 'vitest';
import { finish } from '../../../test/support/finish.ts';
import { refusalOf } from '../../../test/support/refusal.ts';
import { readRecord } from '../../collections/rules/record-text.fixture.ts';
import { RECORD_BYTES_MAX } from '../../collections/rules/record-text.ts';
import { cutDocument } from './cut-document.ts';
import { documentOf, POLICY, planOf, storedAfter } from './ingest.fixture.ts';
import { chunkRecord, manifestRecord } from './ingest-records.ts';
import { checkBatch } from './ingest-request.ts';
import { BATCH_COPIED_BYTES_MAX, COPIED_BYTES_MAX } from './limits.ts';
import { checkRecordSizes, chunkBytes } from './record-sizes.ts';

const check = (request: object, pointer?: string) =>
  finish(checkRecordSizes(planOf(documentOf(request)), pointer));
const storedBytes = (record: string) => Buffer.byteLength(readRecord(record, POLICY).text);

describe('the record of a chunk', () => {
  const vector = { values: new Float32Array(8).fill(1 / 3), generatedAt: '2026-01-01T00:00:00.000Z' };
  const request = {
    text: 'A "text" of\nsome é words\u0001. '.repeat(40),
    documentId: 'd',
    metadata: { a: 'é', textHash: 'mine' },
    sources: [{ uri: 'u' }, { id: 's', span: { line: 1 } }],
    options: { chunkChars: 60, chunkOverlapChars: 5 },
  };

  test('is never measured too small, and at most a few bytes too large', () => {
    const first = planOf(documentOf(request));
    const reuse = { ...request.options, reuseExistingChunkVectors: true };
    const again = planOf(documentOf({ ...request, options: reuse }), storedAfter(first));
    expect(again.counts.vectorReusedCount).toBeGreaterThan(10);
    for (const plan of [first, again]) {
      const bytesOf = chunkBytes(plan);
      for (const chunk of plan.chunks) {
        const real = storedBytes(chunkRecord(plan, chunk, vector));
        const inText = 6 * chunk.text.length - Buffer.byteLength(JSON.stringify(chunk.text));
        const above = bytesOf(chunk) - real - inText;
        expect(above).toBeGreaterThanOrEqual(0);
        expect(above).toBeLessThan(100);
      }
    }
  });

  test.each([
    ['metadata', { metadata: { note: 'a'.repeat(600_000) } }],
    ['sources', { sources: [{ uri: 'a'.repeat(600_000) }] }],
  ])('that is too large because of its %s refuses the request', (member, own) => {
    const text = '\u0001'.repeat(50_000);
    const large = { text, ...own, options: { chunkChars: 50_000 } };
    expect(refusalOf(() => check(large, '/items/3'))).toMatchObject({
      code: 'limit_exceeded',
      errors: [{ pointer: `/items/3/${member}` }],
    });
    check({ ...large, text: text.replaceAll('\u0001', 'a') });
  });

  test('is not measured if it is already stored', () => {
    const plan = planOf(documentOf({ text: 'a', metadata: { note: 'a'.repeat(RECORD_BYTES_MAX) } }));
    expect(refusalOf(() => finish(checkRecordSizes(plan)))).toMatchObject({ code: 'limit_exceeded' });
    const chunks = plan.chunks.map((chunk) => ({ ...chunk, action: 'reused' as const }));
    finish(checkRecordSizes({ ...plan, chunks }));
  });
});

describe('the manifest', () => {
  const shape = { chunkChars: 6, chunkOverlapChars: 0, persistManifest: true };
  const request = (chunks: number, prefix: number) => ({
    text: 'abc.. '.repeat(chunks),
    idPrefix: 'x'.repeat(prefix),
    options: shape,
  });

  test('that is too large refuses the request before it is written', () => {
    const large = request(2_000, 128);
    expect(refusalOf(() => check(large, '/items/3'))).toMatchObject({
      code: 'limit_exceeded',
      errors: [{ pointer: '/items/3/options/chunkChars' }],
    });
    check({ ...large, options: { ...shape, persistManifest: false } });
    const plan = planOf(documentOf(large));
    const manifest = { ...plan.manifest!, action: 'reused' as const };
    finish(checkRecordSizes({ ...plan, manifest }));
  });

  test('is measured as it is stored', () => {
    const plan = planOf(documentOf({ ...request(50, 9), sources: [{ uri: 'é' }] }));
    const record = manifestRecord(plan, plan.manifest!);
    expect(storedBytes(record)).toBe(Buffer.byteLength(record));
  });
});

describe('the members that every chunk repeats', () => {
  const options = { chunkChars: 10, chunkOverlapChars: 0 };
  const noteOf = (bytes: number) => ({ note: 'a'.repeat(bytes - '"note"'.length) });

  test.each([
    ['metadata', (bytes: number) => ({ metadata: noteOf(bytes) })],
    ['sources', (bytes: number) => ({ sources: [{ id: 'a'.repeat(bytes - '{"id":""}'.length) }] })],
  ])('have a bound for all chunks of a document: %s', (member, own) => {
    const text = 'Ten chars '.repeat(128);
    const most = Math.floor(COPIED_BYTES_MAX / 128);
    const cut = (bytes: number) =>
      finish(cutDocument(documentOf({ text, ...own(bytes), options }), '/items/3'));
    expect(cut(most)).toHaveLength(128);
    expect(refusalOf(() => cut(most + 1))).toMatchObject({
      code: 'limit_exceeded',
      errors: [{ pointer: `/items/3/${member}` }],
    });
  });

  test('have a bound for all documents of a batch, by their estimates', () => {
    const item = (bytes: number) => ({
      partitionKey: 'p',
      text: 'a'.repeat(1_280),
      metadata: noteOf(bytes),
      options,
    });
    const items = (each: number) => Array.from({ length: 16 }, () => item(each));
    const most = BATCH_COPIED_BYTES_MAX / 16 / 128;
    checkBatch(items(most - 16));
    expect(refusalOf(() => checkBatch(items(most + 16)))).toMatchObject({
      code: 'limit_exceeded',
      errors: [{ pointer: '/items' }],
    });
  });
});
