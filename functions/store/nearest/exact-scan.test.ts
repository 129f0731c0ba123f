import { describe, expect, test } from 'vitest';
import { recordId } from '../record-id.ts';
import type { NearestRequest } from '../search.ts';
import { rowsPerPage, scanExactly } from './exact-scan.ts';
import { SlotModel } from './slot-model.fixture.ts';

const request = (values: number[], more: Partial<NearestRequest> = {}): NearestRequest => ({
  by: 'nearest',
  collection: 'records',
  group: 'g',
  slot: `${values.length}a`,
  metric: 'dotProduct',
  values: Float32Array.from(values),
  limit: 10,
  readsMax: 100_000,
  ...more,
});
const turn = () => Promise.resolve();

describe('an exact scan', () => {
  test('orders by score, then by the bytes of the listing id', async () => {
    const model = new SlotModel();
    const names = ['z', '\u{10000}', '\uffff', 'a', 'nearer'];
    for (const name of names) {
      model.write(recordId(name), Float32Array.of(name === 'nearer' ? 2 : 1), name);
    }
    const found = await scanExactly(model.moment(), request([3], { limit: 4 }), turn);
    expect(found).toEqual({
      matches: [
        { id: recordId('nearer'), score: 6 },
        { id: recordId('a'), score: 3 },
        { id: recordId('z'), score: 3 },
        { id: recordId('\uffff'), score: 3 },
      ],
      complete: true,
      narrowed: false,
      reads: 5,
    });
  });

  test('finds the first of many equal vectors, holding few', async () => {
    const model = new SlotModel();
    const count = 12_000;
    for (let n = 0; n < count; n += 1)
      model.write(recordId(`${n}`), Float32Array.of(1), `${count - n}`.padStart(6, '0'));
    const found = await scanExactly(model.moment(), request([1], { limit: 3 }), turn);
    const expected = [1, 2, 3].map((n) => recordId(`${count - n}`));
    expect(found.matches.map(({ id }) => id)).toEqual(expected);
  });

  test('marks its answer as incomplete beyond the allowed reads', async () => {
    const model = new SlotModel();
    for (let n = 0; n < 5; n += 1) model.write(recordId(`${n}`), Float32Array.of(1));
    model.write(recordId('0'), null);
    expect(await scanExactly(model.moment(), request([1], { readsMax: 4 }), turn)).toMatchObject({
      complete: true,
      reads: 4,
    });
    expect(await scanExactly(model.moment(), request([1], { readsMax: 3 }), turn)).toEqual({
      matches: [],
      complete: false,
      narrowed: false,
      reads: 3,
    });
  });

  test('reads pages and yields to others between them', async () => {
    const model = new SlotModel();
    const dimensions = 20_000;
    const count = rowsPerPage(dimensions) * 2 + 1;
    for (let n = 0; n < count; n += 1) model.write(recordId(`${n}`), new Float32Array(dimensions).fill(n));
    let turns = 0;
    const rows = model.moment();
    const found = await scanExactly(
      rows,
      request(
        Array.from({ length: dimensions }, () => 1),
        { limit: 1 },
      ),
      () => {
        turns += 1;
        return Promise.resolve();
      },
    );
    expect(found.matches[0]?.id).toBe(recordId(`${count - 1}`));
    expect(turns).toBe(2);
    expect(rows.calls).toEqual(['changes', 'changes', 'changes']);
  });

  test('refuses a vector of another length', async () => {
    const model = new SlotModel();
    model.write(recordId('a'), Float32Array.of(1, 2));
    await expect(scanExactly(model.moment(), request([1]), turn)).rejects.toThrow(
      'a vector of 1 dimensions has 8 bytes',
    );
  });
});
