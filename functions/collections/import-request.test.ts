import { expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { CountedTurns } from '../../test/support/counted-turns.ts';
import { machine } from '../compose/machine.ts';
import { requestPayload, requestText } from '../jobs/staged-payload.ts';
import { finished } from '../kernel/turns.ts';
import { readBatch } from './batch-upsert.ts';
import { hashImport, readImport } from './import-request.ts';
import type { StagedPayloads } from './staged-payloads.ts';

const { recordQueryBodyBytesMax: bytesMax } = limits;

/** An import whose query has `bytes` bytes. */
function withQuery(bytes: number): string {
  const query = { partitionKeys: [''] };
  const padding = 'a'.repeat(bytes - JSON.stringify(query).length);
  return JSON.stringify({
    snapshot: { policy: { name: 'notes' }, records: [], query: { partitionKeys: [padding] } },
  });
}

test('an export with any query that an export may have is imported', () => {
  expect(finished(readImport(withQuery(bytesMax), 'notes')).sourceCollection).toBe('notes');
});

test('a query larger than any export may have is refused', () => {
  expect(() => finished(readImport(withQuery(bytesMax + 1), 'notes'))).toThrow(
    expect.objectContaining({
      code: 'limit_exceeded',
      extensions: { errors: [expect.objectContaining({ pointer: '/snapshot/query' })] },
    }),
  );
});

test.each<[snapshot: object, pointer: string]>([
  [{ policy: { name: 'others' } }, '/snapshot/policy/name'],
  [{ collection: 'others', policy: { name: 'notes' } }, '/snapshot/collection'],
])('the refusal of another collection names the member that has its name: %j', (snapshot, pointer) => {
  const request = JSON.stringify({ snapshot: { records: [], ...snapshot } });
  expect(() => finished(readImport(request, 'notes'))).toThrow(
    `${pointer}: must be the collection that takes the records, unless allowCollectionRename is true`,
  );
});

const compared = (given: object, snapshot: object = {}) => {
  const request = { snapshot: { policy: { name: 'notes' }, records: [], ...snapshot }, ...given };
  return hashImport(finished(readImport(JSON.stringify(request), 'notes')), machine.turns.of('test'));
};
const zeros = `sha256:${'0'.repeat(64)}`;
const ones = '1'.repeat(64);

test('a refusal for a hash shows what was expected and what was found', async () => {
  const { contentHash } = await compared({});
  const start = 'The records do not match the expected hash:';
  await expect(compared({ expectedContentHash: zeros })).rejects.toMatchObject({
    code: 'content_hash_mismatch',
    message: `${start} the content hash is ${contentHash}, expected was ${zeros}.`,
  });
  const value = /the value hash is sha256:[0-9a-f]{64}, expected was 1{64}\.$/;
  await expect(compared({ expectedValueHash: ones })).rejects.toMatchObject({
    message: expect.stringMatching(value),
  });
  const both = compared({ expectedContentHash: zeros, expectedValueHash: ones });
  await expect(both).rejects.toMatchObject({ message: expect.stringMatching(value) });
  await expect(both).rejects.toMatchObject({
    message: expect.stringContaining(`the content hash is ${contentHash}, expected was ${zeros};`),
  });
});

test('a text that is no hash is not repeated in the refusal', async () => {
  const sent = compared({}, { contentHash: 'what the caller sent' });
  await expect(sent).rejects.toMatchObject({ message: expect.stringContaining('a text that is no SHA-256') });
  await expect(sent).rejects.not.toMatchObject({ message: expect.stringContaining('what the caller') });
});

test('an expected value hash that holds is enough', async () => {
  const refused: unknown = await compared({ expectedValueHash: ones }).catch((error: unknown) => error);
  const [found = ''] = /(?<=value hash is )sha256:[0-9a-f]{64}/.exec(String(refused)) ?? [];
  expect(await compared({ expectedContentHash: zeros, expectedValueHash: found })).toMatchObject({
    status: 'matched_by_value',
    matches: true,
  });
});

/** Records of an import or a batch of 4 MB; a step has no more characters than this, and brackets and strings than that. */
const STEP_LENGTH = 131_072 + 4_096;
const STEP_PLACES = 16_384;

test('the text of an import, and that of a batch, is cut in steps', () => {
  const record = JSON.stringify({ id: 'a', content: 'x'.repeat(4_000) });
  const many = Array.from({ length: 1_000 }, () => record).join(',');
  const batch = `{"records":[${many}]}`;
  const request = `{"snapshot":{"policy":{"name":"notes"},"records":[${many}]}}`;
  expect([...readBatch(batch)].length).toBeGreaterThan(batch.length / STEP_LENGTH - 1);
  expect([...readImport(request, 'notes')].length).toBeGreaterThan(request.length / STEP_LENGTH - 1);
});

test('one record of many members is cut in steps', () => {
  const members = Array.from({ length: 200_000 }, (_, n) => `"${n}":[]`).join(',');
  const steps = [...readBatch(`{"records":[{${members}}]}`)].length;
  // A name, and the two brackets of its value; passed over as a list, and as an item.
  expect(steps).toBeGreaterThan((2 * 3 * 200_000) / STEP_PLACES - 2);
});

test('the text of a whole request is made in steps', async () => {
  const counted = new CountedTurns();
  const request = { texts: Array.from({ length: 100_000 }, String) };
  const payloads = { payloadBytesMax: 10_000_000 } as StagedPayloads;
  await requestPayload(payloads, 's', request, 'embedding', counted.turns);
  expect(counted.asked).toBeGreaterThan(100_000 / 2_049);
});

test('white space is removed in steps', async () => {
  const counted = new CountedTurns();
  const text = JSON.stringify(Array.from({ length: 100_000 }, String), null, 1);
  const payloads = { payloadBytesMax: 10_000_000 } as StagedPayloads;
  expect(await requestText(payloads, text, 'batch', counted.turns)).toBe(JSON.stringify(JSON.parse(text)));
  expect(counted.asked).toBeGreaterThan(100_000 / 1_025);
});
