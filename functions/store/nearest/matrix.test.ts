import { expect, test } from 'vitest';
import { recordId } from '../record-id.ts';
import { Arena, blockMax } from './arena.ts';
import { Matrix } from './matrix.ts';

function matrixOf(ids: readonly string[]): Matrix {
  const arena = new Arena(32 * blockMax);
  const matrix = new Matrix(2, {
    take: (bytes) => arena.take(bytes),
    give: (block) => arena.give(block),
    charge: (bytes) => arena.charge(bytes),
    refund: (bytes) => arena.refund(bytes),
  });
  for (const id of ids) matrix.put(id, Float32Array.of(1, 2));
  return matrix;
}

/** An id of another form, whose characters have the low bytes of this one: a decoder may take them for its digits. */
function likeOf(id: string): string {
  return String.fromCharCode(id.charCodeAt(0) + 0x100) + id.slice(1);
}

test('many records are found as one by one, also where ids have other forms', () => {
  const ids = Array.from({ length: 100 }, (_, n) => recordId(`${n}`));
  const other = ids[7]!.replace(/[0-9]/g, 'a').toUpperCase();
  const named = ['a name', 'x'.repeat(64), 'g'.repeat(32), other];
  const matrix = matrixOf([...ids.slice(0, 50), ...named]);
  const asked: readonly (readonly string[])[] = [
    [],
    ids,
    ids.toReversed(),
    [...ids, ...named, 'none'],
    [ids[0]!, other],
    [other.toLowerCase(), ids[1]!],
    ['', 'x'.repeat(64)],
    ['g'.repeat(32), ids[2]!],
    [ids[0]!, likeOf(ids[1]!)],
  ];
  for (const some of asked) {
    const one = some.map((id) => matrix.positionOf(id)).filter((position) => position !== -1);
    expect(matrix.positionsOf(some)).toEqual(one);
  }
  expect(matrix.positionsOf([ids[0]!, likeOf(ids[1]!)])).toEqual(matrix.positionsOf([ids[0]!]));
  expect(matrix.positionsOf(ids)).toHaveLength(50);
  expect(matrix.positionsOf(named)).toHaveLength(4);
});
