import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPolicy } from '../policy.ts';
import { isOrderedObject, type OrderedJson, readOrderedJson } from './ordered-json.ts';
import { compareSnapshotHashes, SnapshotHash } from './snapshot-hash.ts';
import { snapshotJson, snapshotString } from './snapshot-json.ts';
import { recordText } from './snapshot-record.ts';

const policy = readPolicy({
  name: 'notes',
  vectorPolicies: [{ name: 'v', path: '/vectors/v/values', dimensions: 3, distanceFunction: 'DotProduct' }],
  indexedMetadata: ['/metadata/b', '/metadata/a'],
});

function hashOf(collection: string, records: readonly string[]): string {
  const snapshot = new SnapshotHash(collection, policy);
  for (const record of records) snapshot.add(record);
  return snapshot.digest();
}

/** Members in another order than the hash's, times that are not normal, members that JavaScript would sort. */
const first = `{
  "updatedAt": "2026-01-02T03:04:05.12345678Z", "createdAt": "2026-01-02T03:04:05.000+01:00",
  "partitionKey": "p/é😀", "id": "1", "extra": [1.0], "embedding": null, "type": "note", "revision": 2, "etag": "rev:2",
  "vectors": {"v": {"distanceFunction": "dotProduct", "dimensions": 3, "values": [0.1, -0.0, 0.00001],
    "generatedAt": "2026-01-02t03:04:05.50z"}},
  "sources": [{"more": true, "uri": "u", "id": "s", "span": {"chunkIndex": 2, "charEnd": 4, "charStart": 0}}],
  "content": {"text": "<b>\\"A\\" & 'B' + \`C\`\\\\\\n\\t\\u007f"},
  "metadata": {"z": 1, "1": "x", "a": {"n": 1.50, "l": []}}
}`;
const second = '{"id":"2","partitionKey":"p"}';

describe('the hash of a snapshot', () => {
  // Both hashes come from an independent program over texts that were written by hand.
  test('is that of the text in its one order', () => {
    expect(hashOf('notes', [first, second])).toBe(
      'sha256:c8ff654e9f94086dd87e7e7be8452884f7bf0e2d74f0a2b1bc2295d5bd21f5c7',
    );
    expect(new SnapshotHash('c', readPolicy({ name: 'c' })).digest()).toBe(
      'sha256:f884de8772339db7035ac1ce76b6880be04ffe21066659b9bc0dc04951a2f849',
    );
  });

  test('reads a record of the hash again as the same', () => {
    for (const record of [first, second]) {
      const text = recordText(readOrderedJson(record));
      expect(recordText(readOrderedJson(text))).toBe(text);
    }
  });

  test('follows every value, the order of records and the order of free members', () => {
    const changed = [
      [second, first],
      [first],
      [first, second, second],
      [first.replace('"z": 1, "1": "x"', '"1": "x", "z": 1'), second],
      [first.replace('rev:2', 'rev:3'), second],
      [first.replace('0.1,', '0.10000001,'), second],
      [first, '{"id":"2","partitionKey":"p","extra":null}'],
    ];
    const hashes = [hashOf('notes', [first, second]), hashOf('other', [first, second])];
    for (const records of changed) hashes.push(hashOf('notes', records));
    expect(new Set(hashes).size).toBe(changed.length + 2);
  });

  test('is the same for a value that is spelled otherwise', () => {
    const spelled = first
      .replace('1.50', '15e-1')
      .replace('0.1,', '1e-1,')
      .replace('p/é😀', 'p\\/\\u00e9\\uD83D\\ude00')
      .replace('2026-01-02T03:04:05.000+01:00', '2026-01-02T02:04:05Z');
    expect(hashOf('notes', [spelled, second])).toBe(hashOf('notes', [first, second]));
  });
});

describe('the JSON of a snapshot', () => {
  test('is ASCII, and escapes what HTML reads', () => {
    expect(snapshotString('"&\'+<>`\\/\n\r\t\b\f\0\x1f\x7fé😀 ~')).toBe(
      '"\\u0022\\u0026\\u0027\\u002B\\u003C\\u003E\\u0060\\\\/\\n\\r\\t\\b\\f\\u0000\\u001F\\u007F\\u00E9\\uD83D\\uDE00 ~"',
    );
  });

  const named = fc.string({
    unit: fc.constantFrom('1', '10', 'b', 'a', '"', '\\', 'é', '{', ',', ' '),
    maxLength: 3,
  });
  const trees = fc.letrec<{ value: OrderedJson }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, false),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      named,
      fc.array(tie('value'), { maxLength: 3 }),
      fc
        .uniqueArray(fc.tuple(named, tie('value')), { maxLength: 4, selector: ([name]) => name })
        .map((members) => new Map(members)),
    ),
  })).value;
  /** The text again, with JSON's own escapes and white space. */
  const loose = (value: OrderedJson): string => {
    if (isOrderedObject(value)) {
      return `{ ${[...value].map(([name, each]) => `${JSON.stringify(name)} :\n${loose(each)}`).join(' ,\t')} }`;
    }
    return Array.isArray(value) ? `[ ${value.map(loose).join(' , ')}\r\n]` : JSON.stringify(value);
  };

  test('reads back as the value, in the order of the document', () => {
    fc.assert(
      fc.property(trees, (value) => {
        const read = readOrderedJson(`\n ${loose(value)} `);
        expect(read).toEqual(value);
        expect(snapshotJson(read)).toBe(snapshotJson(value));
        expect(readOrderedJson(snapshotJson(value))).toEqual(value);
        if (isOrderedObject(value) && isOrderedObject(read))
          expect([...read.keys()]).toEqual([...value.keys()]);
      }),
      { numRuns: 3_000 },
    );
  });

  test('the comparison finds a reader that uses objects of JavaScript', () => {
    const property = fc.property(trees, (value) => {
      const sorted = (each: OrderedJson): OrderedJson =>
        isOrderedObject(each) ? new Map(Object.entries(Object.fromEntries(each))) : each;
      return snapshotJson(sorted(value)) === snapshotJson(value);
    });
    expect(fc.check(property, { numRuns: 3_000 }).failed).toBe(true);
  });

  test('reads a name as written, also after other names were read', () => {
    // V8 13.6 and 14.6 may take the name of an object parsed before for this one: nodejs/node#63785.
    for (const text of ['{"h":[],"\\\\":0}', '{"h":1,"\\"":2}']) JSON.parse(text);
    expect(readOrderedJson('{"h":1,"\\"":2}')).toEqual(
      new Map([
        ['h', 1],
        ['"', 2],
      ]),
    );
  });

  test.each(['', '{', '{"a":1', '[1', '"a', '"a\\"', '[1,'])('refuses the unfinished text %j', (text) => {
    expect(() => readOrderedJson(text)).toThrow(SyntaxError);
  });
});

test('a record with every member absent or null is complete', () => {
  const text =
    '{"id":"2","partitionKey":"p","type":"","schemaVersion":null,"metadata":null,"content":null,"sources":null,"vectors":null,"etag":null,"revision":null,"createdAt":null,"updatedAt":null}';
  expect(recordText(readOrderedJson(second))).toBe(text);
  expect(recordText(readOrderedJson(text))).toBe(text);
  const vector = '{"id":"2","partitionKey":"p","vectors":{"w":{"values":[]}}}';
  expect(recordText(readOrderedJson(vector))).toContain(
    '"vectors":{"w":{"values":[],"dimensions":0,"model":null,"datatype":"float32","distanceFunction":"cosine","generatedAt":null,"sourceField":null}}',
  );
});

test('a comparison of hashes says what it compared', () => {
  const actual = `sha256:${hash('sha256', '', 'hex')}`;
  const status = (expected: string | null, found: string | null) => {
    const { kind, ...comparison } = compareSnapshotHashes(expected, found);
    expect(kind).toBe('collectionSnapshot');
    expect(comparison).toMatchObject({ expectedHash: expected, actualHash: found });
    return [comparison.status, comparison.compared, comparison.matches];
  };
  expect(status(null, actual)).toEqual(['not_provided', false, false]);
  expect(status(null, null)).toEqual(['not_provided', false, false]);
  expect(status(actual, null)).toEqual(['actual_missing', false, false]);
  expect(status(actual.toUpperCase(), actual)).toEqual(['matched', true, true]);
  expect(status(`${actual}0`, actual)).toEqual(['drifted', true, false]);
});
