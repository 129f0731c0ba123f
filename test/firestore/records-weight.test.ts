import { expect, test } from 'vitest';
import { scaleOf, searchWeight } from '../../functions/collections/write-weight.ts';
import { recordPath } from '../../functions/store/firestore/layout.ts';
import { searchFields, searchIndexBytes } from '../../functions/store/firestore/search-fields.ts';
import { messageBytes } from '../../functions/store/firestore/size.ts';
import type { SearchEntry } from '../../functions/store/search.ts';

/** Chunks weigh at most 8 MiB, and a commit may have 10. */
const SLACK = 10 / 8;
const DATABASE_NAME_BYTES = 60;

function entryWith(terms: number, vectors: number): SearchEntry {
  return {
    group: 'a'.repeat(32),
    terms: Array.from({ length: terms }, (_, n) => `tword${n}`),
    orderKey: `partition\u0001record`,
    lexicon: '=key\n/content\nwords of the record\n'.repeat(Math.ceil(terms / 10)),
    vectors: Array.from({ length: vectors }, (_, n) => ({
      slot: `384${'abcd'[n] ?? 'a'}`,
      metric: 'cosine',
      values: new Float32Array(384).fill(0.5),
    })),
  };
}

/** The bytes of a commit that an entry uses when it replaces an equal one. */
function firestoreWeight(entry: SearchEntry): number {
  const scope = { kind: 'spaces', name: 's'.repeat(40) } as const;
  const path = recordPath(scope, 'g'.repeat(20), { collection: 'records', id: 'a'.repeat(32) });
  const message = messageBytes(path, searchFields(entry), DATABASE_NAME_BYTES);
  return message + 2 * searchIndexBytes(path, entry);
}

const entries = [entryWith(50, 1), entryWith(400, 0), entryWith(400, 4), entryWith(4_000, 1)];
const weigh = (entry: SearchEntry) => searchWeight(entry, scaleOf({ weighsIndexEntries: true }));
const isEnough = (weightOf: (entry: SearchEntry) => number) =>
  entries.every((entry) => firestoreWeight(entry) <= SLACK * weightOf(entry));

test('a chunk that is not too heavy fits into a commit of Firestore', () => {
  expect(isEnough(weigh)).toBe(true);
});

test('a weight without terms, or without vectors, is found', () => {
  expect(isEnough((entry) => weigh({ ...entry, terms: [] }))).toBe(false);
  expect(isEnough((entry) => weigh({ ...entry, vectors: [] }))).toBe(false);
});

test('the weight of a database without such a limit is too little', () => {
  expect(isEnough((entry) => searchWeight(entry, scaleOf({})))).toBe(false);
});
