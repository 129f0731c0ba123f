import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareKeys } from '../../../../archives/line-reader.ts';
import type { SnapshotFault } from '../../../../archives/snapshot-error.ts';
import { canonicalJson, type JsonObject } from '../../../../kernel/canonical-json.ts';
import { finished } from '../../../../kernel/turns.ts';
import { openArchive } from './archive.ts';
import { archived } from './archive-objects.fixture.ts';
import { recordLineInSteps, type SnapshotLine, snapshotHeadLine } from './lines.ts';
import { keyOf, type SnapshotValue } from './record-values.ts';
import {
  collected,
  emptyTenant,
  faultOf,
  linesIn,
  type Made,
  readLines,
  sampleTenant,
  steps,
  TENANT,
  tenantOf,
} from './tenants.fixture.ts';

type Of<C extends SnapshotValue['collection']> = Extract<SnapshotValue, { collection: C }>;

async function entriesIn(made: Made): Promise<SnapshotValue[]> {
  const entries = (await linesIn(made)).flatMap(({ entry }) => entry ?? []);
  return structuredClone(entries);
}

const recordLine = (entry: SnapshotValue) => finished(recordLineInSteps(entry));

/** Lines as an export would write them: in order, and each right by itself. */
function linesOf(tenantId: string, entries: readonly SnapshotValue[]): SnapshotLine[] {
  const ordered = entries.toSorted((left, right) => compareKeys(keyOf(left), keyOf(right)));
  const lines = ordered.map((entry) => ({ line: recordLine(entry), entry }));
  return [{ line: snapshotHeadLine(tenantId), entry: null }, ...lines];
}

function textsOf(tenantId: string, entries: readonly SnapshotValue[]): string[] {
  return linesOf(tenantId, entries).map(({ line }) => line);
}

function one<C extends SnapshotValue['collection']>(
  entries: readonly SnapshotValue[],
  collection: C,
  name: string,
): Of<C> {
  const found = entries.find((entry) => entry.collection === collection && nameOf(entry) === name);
  if (found === undefined) throw new Error(`there is no ${name} in ${collection}`);
  return found as Of<C>;
}

function nameOf(entry: SnapshotValue): string {
  if (entry.collection === 'commits') return entry.value.idempotencyKey;
  return entry.collection === 'fences' ? entry.value.name : entry.value.id;
}

function without(entries: readonly SnapshotValue[], collection: string, name?: string): SnapshotValue[] {
  return entries.filter(
    (entry) => entry.collection !== collection || (name !== undefined && nameOf(entry) !== name),
  );
}

function renumber(document: { revision: number; etag: string }, revision: number): void {
  Object.assign(document, { revision, etag: `rev:${revision}` });
}

/** The document as the receipt wrote it. */
function revisionIn(entries: readonly SnapshotValue[], receipt: string, id: string) {
  const found = one(entries, 'commits', receipt).value.result.documents.find(
    (document) => document.id === id,
  );
  if (found === undefined) throw new Error(`there is no ${id} in ${receipt}`);
  return found;
}

/** `create` wrote revision 1 of `a` and `b`, `remove` revision 2 of both; each change makes the lines contradict. */
const contradictions: [
  string,
  SnapshotFault,
  string,
  string,
  (entries: SnapshotValue[]) => SnapshotValue[] | undefined,
][] = [
  ['no receipts', 'invalid', 'documents', '/value/revision', (all) => without(all, 'commits')],
  [
    'no receipts and no documents',
    'invalid',
    'events',
    '/value/transactionId',
    (all) => without(without(all, 'commits'), 'documents'),
  ],
  ['no documents', 'incomplete', 'remove', '/value/result/documents', (all) => without(all, 'documents')],
  [
    'no documents, but later records',
    'incomplete',
    'remove',
    '/value/result/documents',
    (all) => without(without(all, 'documents'), 'events'),
  ],
  [
    'a missing document',
    'incomplete',
    'remove',
    '/value/result/documents',
    (all) => without(all, 'documents', 'a'),
  ],
  [
    'a missing tombstone',
    'incomplete',
    'remove',
    '/value/result/documents',
    (all) => without(all, 'documents', 'b'),
  ],
  [
    'no first revision',
    'invalid',
    'documents',
    '/value/revision',
    (all) => without(all, 'commits', 'create'),
  ],
  ['no last revision', 'invalid', 'documents', '/value/revision', (all) => without(all, 'commits', 'remove')],
  [
    'a document of a revision that no receipt holds',
    'invalid',
    'a',
    '/value/revision',
    (all) => {
      renumber(one(all, 'documents', 'a').value, 9);
    },
  ],
  [
    'a document behind its last revision',
    'invalid',
    'a',
    '/value/revision',
    (all) => void Object.assign(one(all, 'documents', 'a').value, revisionIn(all, 'create', 'a')),
  ],
  [
    'a gap in the revisions',
    'invalid',
    'a',
    '/value/revision',
    (all) => {
      renumber(revisionIn(all, 'remove', 'a'), 3);
      renumber(one(all, 'documents', 'a').value, 3);
    },
  ],
  [
    'a revision beyond all counting',
    'invalid',
    'remove',
    '/value/result/documents/1/revision',
    (all) => {
      renumber(revisionIn(all, 'remove', 'a'), 2 ** 32);
    },
  ],
  [
    'revisions from 2',
    'invalid',
    'a',
    '/value/revision',
    (all) => {
      renumber(revisionIn(all, 'create', 'a'), 3);
    },
  ],
  [
    'other data than the last revision',
    'invalid',
    'a',
    '/value',
    (all) => void Object.assign(one(all, 'documents', 'a').value, { data: { more: 1 } }),
  ],
  [
    'other indexes than the last revision',
    'invalid',
    'a',
    '/value',
    (all) => void Object.assign(one(all, 'documents', 'a').value, { indexes: { title: 'β' } }),
  ],
  [
    'another day of creation than the last revision',
    'invalid',
    'a',
    '/value',
    (all) =>
      void Object.assign(one(all, 'documents', 'a').value, { createdAtUtc: '2020-01-01T00:00:00.000Z' }),
  ],
  [
    'an event of no receipt',
    'invalid',
    'parked',
    '/value/transactionId',
    (all) =>
      void Object.assign(one(all, 'events', 'parked').value, { transactionId: `ctx_${'f'.repeat(32)}` }),
  ],
  [
    'an event of what is no transaction',
    'invalid',
    'parked',
    '/value/transactionId',
    (all) => void Object.assign(one(all, 'events', 'parked').value, { transactionId: 'x' }),
  ],
  [
    'an event of another moment than its commit',
    'invalid',
    'parked',
    '/value/createdAtUtc',
    (all) =>
      void Object.assign(one(all, 'events', 'parked').value, { createdAtUtc: '2026-01-01T00:00:00.001Z' }),
  ],
];

/** The line of what the contradiction names: a record, or the first of a collection. */
function lineOf(entries: readonly SnapshotValue[], name: string): number {
  const lines = linesOf('tenant-a', entries);
  const named = ({ entry }: SnapshotLine) =>
    entry !== null && (nameOf(entry) === name || entry.collection === name);
  return lines.findIndex(named) + 1;
}

describe('lines that are each right by themselves are refused that hold', () => {
  test.each(contradictions)('%s', async (_, fault, name, pointer, change) => {
    const entries = await entriesIn(await sampleTenant());
    const changed = change(entries) ?? entries;
    const place = { line: lineOf(changed, name), pointer };
    const error = await faultOf(fault, () => readLines(textsOf('tenant-a', changed), 'tenant-a'));
    expect(error.place).toEqual(place);
    const objects = await archived(linesOf('tenant-a', changed), 2048, 'tenant-a');
    const archive = await openArchive('tenant-a', objects);
    expect((await faultOf(fault, archive.check)).place).toEqual(place);
    await faultOf(fault, () => collected(archive.records));
    await faultOf('incomplete', archive.verify);
  });

  test('one revision in two receipts', async () => {
    const entries = await entriesIn(await sampleTenant());
    // The same revision to the letter, so that nothing else tells it: both commits were of one moment.
    const { committedAtUtc } = one(entries, 'commits', 'create').value;
    const { value } = one(entries, 'commits', 'remove');
    Object.assign(value, { committedAtUtc });
    Object.assign(value.result, { committedAtUtc });
    const { documents } = one(entries, 'commits', 'create').value.result;
    Object.assign(value.result, { documents: structuredClone(documents) });
    const ordered = linesOf('tenant-a', entries);
    const second = ordered.findLastIndex(({ entry }) => entry?.collection === 'commits') + 1;
    const error = await faultOf('duplicate', () => readLines(textsOf('tenant-a', entries), 'tenant-a'));
    expect(error.place).toEqual({ line: second, pointer: '/value/result/documents/0/revision' });
  });

  test('values that no refusal repeats', async () => {
    for (const [, fault, , , change] of contradictions) {
      const entries = await entriesIn(await sampleTenant());
      const changed = change(entries) ?? entries;
      const { message } = await faultOf(fault, () => readLines(textsOf('tenant-a', changed), 'tenant-a'));
      expect(message).not.toMatch(/parked|title|ctx_|2020/);
    }
  });
});

const longer = fc.tuple(steps, steps).map((parts) => parts.flat());

describe('records that agree are accepted', () => {
  test('for any sequence of commits and calls; without one of the documents or receipts they are refused', async () => {
    let left = 0;
    await fc.assert(
      fc.asyncProperty(longer, fc.nat(), async (played, pick) => {
        const entries = await entriesIn(await tenantOf(played));
        expect(readLines(textsOf(TENANT, entries))).toHaveLength(entries.length);
        const needed = entries.filter(
          (entry) =>
            entry.collection === 'documents' ||
            (entry.collection === 'commits' && entry.value.result.documents.length > 0),
        );
        const gone = needed[pick % Math.max(1, needed.length)];
        if (gone === undefined) return;
        left += 1;
        const others = entries.filter((entry) => entry !== gone);
        await faultOf(null, () => readLines(textsOf(TENANT, others)));
      }),
      { seed: 13, numRuns: 80 },
    );
    expect(left).toBeGreaterThan(25);
  });

  test('a tenant whose delivered events are gone', async () => {
    const entries = await entriesIn(await sampleTenant());
    readLines(textsOf('tenant-a', without(entries, 'events')), 'tenant-a');
    readLines(textsOf('tenant-a', without(entries, 'events', 'delivered')), 'tenant-a');
  });

  test('data whose members canonical JSON and an engine order differently', async () => {
    const { store, client } = emptyTenant();
    const data = { 10: 'x', 9: 'y', b: { 2: 1, 1: 2, '': 3 }, a: -0 } as unknown as JsonObject;
    await client.commit({
      idempotencyKey: 'k',
      mutations: [client.upsert('d', data, { indexes: { 10: 'x', 9: 'y', ä: 'z' } })],
    });
    expect(readLines(textsOf(TENANT, await entriesIn({ store, client })))).toHaveLength(2);
  });
});

/** A document of many revisions, beside many others; the receipts stand in the order of their hashed keys. */
async function busyTenant(revisions: number, documents: number): Promise<SnapshotValue[]> {
  const { store, client } = emptyTenant();
  for (let n = 0; n < revisions; n++) {
    const mutations = [client.upsert('busy', { n })];
    for (let d = n; d < documents; d += revisions) mutations.push(client.upsert(`d${d}`, { d }));
    await client.commit({ idempotencyKey: `k${n}`, mutations });
    client.advance(1);
  }
  return entriesIn({ store, client });
}

describe('of many revisions', () => {
  const REVISIONS = 130;
  test('each is known, whichever is left out or repeated', async () => {
    const entries = await busyTenant(REVISIONS, 2000);
    expect(readLines(textsOf(TENANT, entries))).toHaveLength(REVISIONS + 2001);
    const lines = new Map(entries.map((entry) => [entry, recordLine(entry)]));
    const texts = (all: readonly SnapshotValue[]) => [
      snapshotHeadLine(TENANT),
      ...all.map((entry) => lines.get(entry) ?? recordLine(entry)),
    ];
    for (const n of [1, 32, 33, 64, 65, REVISIONS]) {
      const key = `k${n - 1}`;
      await faultOf('invalid', () => readLines(texts(without(entries, 'commits', key))));
      const twice = entries.map((entry) => {
        if (nameOf(entry) !== key) return entry;
        const other = structuredClone(entry);
        renumber(revisionIn([other], key, 'busy'), (n % REVISIONS) + 1);
        return other;
      });
      expect(canonicalJson(twice as never)).not.toBe(canonicalJson(entries as never));
      await faultOf('duplicate', () => readLines(texts(twice)));
    }
  });
});
