import * as fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { CountedTurns } from '../../test/support/counted-turns.ts';
import { type PacedJsonLimits, parsePacedJson } from './paced-json.ts';
import { parseStrictJson, strictJsonLimits } from './strict-json.ts';
import type { Turns } from './turns.ts';

/** A step of the parser has no more members. */
const STEP_MEMBERS = 4_096;
const none: Turns = { due: () => false, next: () => Promise.resolve() };
const most: PacedJsonLimits = {
  ...strictJsonLimits,
  containersMax: 16_777_216,
  itemContainersMax: 1_000,
  itemMembersMax: 500,
};
const paced = (text: string, turns = none) => parsePacedJson([Buffer.from(text)], most, turns);

/** The results of both readers for a text: a value, or the reason of the refusal. */
async function bothWays(text: string): Promise<[unknown, unknown]> {
  const whole = () => parseStrictJson(Buffer.from(text));
  const outcome = (read: () => unknown) =>
    Promise.resolve()
      .then(read)
      .catch((error: unknown) => String(error));
  return [await outcome(whole), await outcome(() => paced(text))];
}

/** Longer than one piece, so that arrays are cut. */
const long = 'x'.repeat(70_000);

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a body in parts', () => {
  test('is the same value as in one step, or refused with the same reason', async () => {
    const item = fc.constantFrom(
      '1',
      '{"a":[1,{"b":[]}]}',
      `"${long}"`,
      '[]',
      '{"a":1,"a":2}',
      '[1',
      '}',
      '',
    );
    const comma = fc.constantFrom(',', ',', ',', ', ', ',,', ':');
    const array = fc.array(fc.tuple(item, comma), { maxLength: 6 }).map((parts) => parts.flat().join(''));
    const around = fc.constantFrom<[string, string]>(
      ['[', ']'],
      ['{"a":[', ']}'],
      ['{"a":[', '],"b":[2],"7":[],"3":{"c":[3]}}'],
      ['{"a":[', '],"a":[2]}'],
      ['{"__proto__":[', ']}'],
      ['[', '}'],
      ['[', ']]'],
      ['', ''],
    );
    await fc.assert(
      fc.asyncProperty(around, array, fc.boolean(), async ([open, close], items, ends) => {
        const content = ends ? items : items.replace(/[,: ]+$/, '');
        const [whole, parts] = await bothWays(`${open}${content}${close}`);
        expect(parts).toEqual(whole);
        if (typeof whole === 'object') expect(JSON.stringify(parts)).toBe(JSON.stringify(whole));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    [`["${long}",]`],
    [`["${long}",,"${long}"]`],
    [`["${long}", ]`],
    [`[,"${long}"]`],
    [`{"a":["${long}",1}`],
    [`["${long}",{"a":1}]]`],
    [`["${long}",1`],
    [','],
    ['1,[2]'],
    ['[1] [2]'],
    ['[1][2]'],
    [`{"a":["${long}",{"b":1,"b":2}]}`],
    [`{"a":["${long}",1],"a":["${long}",1]}`],
  ])('that is not JSON is refused: %#', async (text) => {
    const [whole, parts] = await bothWays(text);
    expect(whole).toMatch(/not valid JSON|twice/);
    expect(parts).toBe(whole);
  });

  test('is the same value wherever its blocks are cut', async () => {
    const tokens = String.raw`"é" "😀\ud83d\ude00" "\\\"" "\ud83d" "\ude00" "a\nb" "x \ {"a":[ {"b":1} ] } -12.5e-3 123456789012345678
      100000000000000000000 1e999 true [ "c": , ,`;
    const token = fc.constantFrom(' ', ...tokens.split(/\s+/));
    const bytes = fc.oneof(
      fc.array(token, { maxLength: 9 }).map((all) => Buffer.from(all.join(''))),
      fc.array(token, { maxLength: 9 }).map((all) => Buffer.from(`[${all.join()}]`)),
      fc.json({ stringUnit: 'binary' }).map((text) => Buffer.from(text)),
    );
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(fc.integer({ min: 1, max: 9 })), async (whole, sizes) => {
        const blocks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) blocks.push(whole.subarray(at, (at += size)));
        blocks.push(whole.subarray(at));
        // A text with two faults may be refused for either.
        const outcome = (read: () => unknown) =>
          Promise.resolve()
            .then(read)
            .catch(() => 'refused');
        expect(await outcome(() => parsePacedJson(blocks, most, none))).toEqual(
          await outcome(() => parseStrictJson(whole)),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  test('decodes at most 32 KiB, twice, between two turns', async () => {
    const decode = vi.spyOn(TextDecoder.prototype, 'decode');
    let decoded = 0;
    let turns = 0;
    let largest = 0;
    const due = () => {
      const sizes = decode.mock.calls.map(([part]) => part?.byteLength ?? 0);
      largest = Math.max(
        largest,
        sizes.slice(decoded).reduce((sum, size) => sum + size, 0),
      );
      decoded = sizes.length;
      return true;
    };
    const next = () => {
      turns += 1;
      return Promise.resolve();
    };
    const text = JSON.stringify({ vector: Array.from({ length: 200_000 }, (_, n) => n / 7) });
    await paced(text, { due, next });
    expect(largest).toBe(32 * 1024);
    expect(turns).toBeGreaterThan((2 * text.length) / largest);
  });

  test('lets others work between two parts', async () => {
    let turns = 0;
    const next = () => {
      turns += 1;
      return Promise.resolve();
    };
    const items = Array.from({ length: 100 }, () => ({ text: long }));
    const read = await paced(JSON.stringify({ items }), { due: () => true, next });
    expect(read).toEqual({ items });
    expect(turns).toBeGreaterThan(100);
  });

  test('with more members than items may hold is refused before its values take memory', async () => {
    const read = (text: string) => {
      let isMeasured = false;
      const measured = () => {
        isMeasured = true;
      };
      const reading = parsePacedJson([Buffer.from(text)], { ...most, measured }, none);
      return reading.then(
        () => 'read',
        (error: unknown) => `${isMeasured ? 'late: ' : ''}${String(error)}`,
      );
    };
    const list = (containers: number) => `[${'[],'.repeat(containers - 2)}[]]`;
    const members = (count: number) => Array.from({ length: count }, (_, n) => `"${n}":1`).join(',');
    expect(await read(`{"a":[${list(1_000)},${list(1_000)}],"b":[{${members(500)}}]}`)).toBe('read');
    for (const text of [`[${list(1_001)}]`, `{"a":[1,${list(1_001)},1]}`])
      expect(await read(text)).toMatch(/^ServiceError: An item .* more than 1000 objects and arrays/);
    for (const text of [
      `[1,{${members(501)}}]`,
      `{${members(501)}}`,
      `{"a":[],${members(300)},"b":[1],"c":{${members(300)}}}`,
    ])
      expect(await read(text)).toMatch(/^ServiceError: An item .* more than 500 members/);
    expect(await read(`[${'[],'.repeat(300_000)}[]]`)).toMatch(/^ServiceError: The lists .* 300000 arrays/);
    expect(await read(`[${'{},'.repeat(300_000)}{}]`)).toBe('read');
  });
});

test.each([
  ['in one object', 2, (members: string) => `{"a":{"b":{${members}}}}`],
  ['in an item', 1, (members: string) => `[{"a":{${members}}},1]`],
  ['beside a list', 2, (members: string) => `{"l":[1],${members}}`],
])('100,000 members %s are read in a step for each 4,096, at the least', async (_, passes, around) => {
  // The text outside the lists is scanned once more to insert the lists.
  const counted = new CountedTurns();
  const members = Array.from({ length: 100_000 }, (__, n) => `"m${n}":${n}`).join(',');
  const text = around(members);
  const all = { ...most, itemMembersMax: 200_000 };
  const value = await parsePacedJson([Buffer.from(text)], all, counted.turns);
  expect(JSON.stringify(value)).toBe(text);
  // The scan and the decoder ask as well, once for each 32 KiB.
  const others = 2 * Math.ceil(text.length / 32_768);
  expect(counted.asked - others).toBeGreaterThan((passes * 100_000) / STEP_MEMBERS);
});
