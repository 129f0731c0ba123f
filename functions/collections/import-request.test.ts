import { expect, test } from 'vitest';
import { limits } from '../../contracts/generated/limits.ts';
import { readImport } from './import-request.ts';

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
