import { describe, expect, test } from 'vitest';
import type { CanonicalDocument } from '../../contracts/generated/models.ts';
import { ITEM, MARKERS } from './eras.ts';
import { LEFT, readView } from './traffic-requests.ts';

const RIGHT = (writer: number): string => LEFT(writer).replace('left', 'right');

const item = (id: string, revision: number, data: object): CanonicalDocument =>
  ({ documentType: ITEM, id, revision, data }) as unknown as CanonicalDocument;

const markers = Array.from({ length: MARKERS }, (_, n) => item(`marker-${n}`, 1, { era: 3 }));
const left = (n: number, revision: number) => item(LEFT(1), revision, { n });
const right = (n: number, revision: number) => item(RIGHT(1), revision, { n });

describe('the reading of a pair from an answer', () => {
  test('is its commit, with and without tears', () => {
    for (const tears of [false, true]) {
      const seen = readView([...markers, left(7, 2), right(7, 2)], tears);
      expect([seen.faults, [...seen.pairs]]).toEqual([[], [[1, { n: 7, revision: 2 }]]]);
    }
  });

  test.each([
    [
      'documents one commit apart, of which the older counts',
      [left(8, 3), right(7, 2)],
      [[1, { n: 7, revision: 2 }]],
    ],
    ['one document of the first commit, which does not count yet', [left(7, 1)], []],
    ['the other document of the first commit', [right(7, 1)], []],
  ])('may with tears be %s', (_, items, pairs) => {
    const seen = readView([...markers, ...items], true);
    expect([seen.faults, [...seen.pairs]]).toEqual([[], pairs]);
    expect(readView([...markers, ...items]).faults).toHaveLength(1);
  });

  test.each([
    ['documents two commits apart', [left(9, 4), right(7, 2)]],
    ['documents of two lines', [left(8, 1), right(7, 2)]],
    ['one document of a later commit', [left(8, 2)]],
  ])('is never %s', (_, items) => {
    for (const tears of [false, true]) expect(readView([...markers, ...items], tears).faults).toHaveLength(1);
  });
});
