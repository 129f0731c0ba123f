import { expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { machine } from '../compose/machine.ts';
import { hashImport, readImport } from './import-request.ts';

const { recordQueryBodyBytesMax: bytesMax } = limits;

/** An import whose query has so many bytes. */
function withQuery(bytes: number): string {
  const query = { partitionKeys: [''] };
  const padding = 'a'.repeat(bytes - JSON.stringify(query).length);
  return JSON.stringify({
    snapshot: { policy: { name: 'notes' }, records: [], query: { partitionKeys: [padding] } },
  });
}

test('an export with any query that an export may have is imported', () => {
  expect(readImport(withQuery(bytesMax), 'notes').sourceCollection).toBe('notes');
});

test('a query larger than any export may have is refused', () => {
  expect(() => readImport(withQuery(bytesMax + 1), 'notes')).toThrow(
    expect.objectContaining({
      code: 'limit_exceeded',
      extensions: { errors: [expect.objectContaining({ pointer: '/snapshot/query' })] },
    }),
  );
});

const compared = (given: object, snapshot: object = {}) => {
  const request = { snapshot: { policy: { name: 'notes' }, records: [], ...snapshot }, ...given };
  return hashImport(readImport(JSON.stringify(request), 'notes'), machine.turns.of('test'));
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
