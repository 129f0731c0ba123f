import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { SvcClient, type SvcRecord } from '../../sdk/typescript/src/index.ts';
import type { Edition } from './library.ts';
import { type Read, Readers } from './readers.ts';

const answer = (...editions: readonly Edition[]) =>
  editions.map((edition) => ({ metadata: { edition } }) as unknown as SvcRecord);

const whole = { 1: answer(1, 1), 2: answer(2, 2, 2) } as const;

/** A reader that gets the answers in their order, then the last one again and again. */
function reading(answers: readonly (readonly SvcRecord[])[]): Read {
  let at = 0;
  return {
    name: 'a query',
    expected: { 1: 2, 2: 3 },
    async read() {
      await setImmediate();
      const given = answers[Math.min(at, answers.length - 1)] ?? [];
      at += 1;
      return given;
    },
  };
}

async function faultsOf(...answers: readonly (readonly SvcRecord[])[]): Promise<readonly string[]> {
  const read = reading([...answers, whole[2]]);
  const readers = new Readers([read], () => new SvcClient({ baseUrl: 'http://127.0.0.1:9' }));
  await readers.haveSeen(2, [read]);
  await readers.stop();
  return readers.seen.faults;
}

describe('readers', () => {
  test('count whole editions, of which the second follows the first', async () => {
    expect(await faultsOf(whole[1], whole[1], whole[2])).toEqual([]);
  });

  test.each<[string, readonly (readonly SvcRecord[])[], string]>([
    ['a mix of both editions', [answer(1, 1, 2)], 'a query saw 2 of edition 1 and 1 of edition 2'],
    ['a mix with the count of an edition', [answer(1, 2)], 'a query saw 1 of edition 1 and 1 of edition 2'],
    ['an empty collection', [whole[1], answer()], 'a query saw 0 of edition 1 and 0 of edition 2'],
    ['a part of an edition', [answer(2, 2)], 'a query saw 0 of edition 1 and 2 of edition 2'],
    ['the old edition after the new one', [whole[2], whole[1]], 'a query saw edition 1 after edition 2'],
  ])('find %s', async (_, answers, fault) => {
    const read = reading([...answers, whole[2]]);
    const readers = new Readers([read], () => new SvcClient({ baseUrl: 'http://127.0.0.1:9' }));
    await readers.haveSeen(2, [read]);
    // The fault of the last case comes after the first sight of edition 2.
    while (readers.seen.faults.length === 0) await setImmediate();
    await readers.stop();
    expect(readers.seen.faults).toEqual([fault]);
  });

  test('that fail stop the story', async () => {
    const read: Read = { ...reading([]), read: () => Promise.reject(new Error('gone')) };
    const readers = new Readers([read], () => new SvcClient({ baseUrl: 'http://127.0.0.1:9' }));
    await expect(readers.haveSeen(1, [read])).rejects.toThrow('gone');
    await expect(readers.stop()).rejects.toThrow('gone');
  });
});
