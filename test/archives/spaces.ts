import { exportSpace } from '../../functions/collections/copies/export-space.ts';
import { onlyVersion } from '../../functions/collections/entry-range.ts';
import { type Incarnation, incarnationOf } from '../../functions/collections/rules/incarnation.ts';
import { type CollectionPolicy, readPolicy } from '../../functions/collections/rules/policy.ts';
import { readRecord } from '../../functions/collections/rules/record-text.fixture.ts';
import { newestFormat } from '../../functions/collections/search/formats.ts';
import { POLICIES, RECORDS, spaceScope } from '../../functions/collections/store-collections.ts';
import { policyRecord } from '../../functions/collections/stored-collection.ts';
import { findableRecord, recordData } from '../../functions/collections/stored-record.ts';
import { finished } from '../../functions/kernel/turns.ts';
import { listPages, recordsOf } from '../../functions/store/pages.ts';
import type { RecordData, RecordStore } from '../../functions/store/port.ts';
import { Objects } from './objects.ts';

/** Spaces with records in the form of the store, and the expected answers of a reader. */

export const SPACE = 'research-ü';
/** Several chunks, with lines both shorter and longer than one. */
const CHUNK_BYTES = 16 * 1024;

const TIME = '2026-01-02T03:04:05.678Z';
const TOGETHER = 20;

export function incarnation(n: number): Incarnation {
  return incarnationOf(Buffer.alloc(16, n));
}

const VECTORS = [{ name: 'embedding', path: '/vectors/embedding/values', dimensions: 3 }];

function policyOf(name: string): CollectionPolicy {
  return readPolicy({ name, vectorPolicies: VECTORS, indexedMetadata: ['/metadata/kind'] });
}

export function policy(name: string, of: Incarnation): RecordData {
  const collection = { name, incarnation: of, policy: policyOf(name), createdAt: TIME };
  return policyRecord(collection, onlyVersion(newestFormat().version));
}

/** `members` is JSON text, because an object of JavaScript would move members such as `1` to the front. */
export function record(of: Incarnation, partitionKey: string, id: string, members = '"n":1'): RecordData {
  const key = `"id":${JSON.stringify(id)},"partitionKey":${JSON.stringify(partitionKey)}`;
  const collection = { incarnation: of, policy: policyOf('any') };
  const metadata = `"metadata":{"kind":${JSON.stringify(id)},"documentId":"d"}`;
  const input = readRecord(`{${members},${key},${metadata}}`, collection.policy);
  return recordData(collection, finished(findableRecord(collection, input, newestFormat())), {
    revision: 3,
    etag: 'rev:3',
    createdAt: TIME,
    updatedAt: TIME,
  });
}

/** A space with everything that is hard to copy: order of members, long keys, odd texts, records that no name reaches. */
export function richSpace(marker: string): { readonly carried: RecordData[]; readonly strays: RecordData[] } {
  const [notes, odd, empty, retired] = [incarnation(1), incarnation(2), incarnation(3), incarnation(0xee)];
  const many = Array.from({ length: 120 }, (_, n) =>
    record(
      notes,
      `p${n % 3}`,
      `note-${n}`,
      `"marker":"${marker}","text":"${'word '.repeat(n % 7 === 0 ? 900 : 9)}"`,
    ),
  );
  const hard = [
    record(odd, 'a/b', 'order', '"b":1,"2":0,"1":1.50,"a":1E+2,"zero":-0.0'),
    record(odd, '…'.repeat(600), '...', '"text":"\\u0000 \\u2028 \\ud83d\\ude00 é\\"\\\\"'),
    record(odd, 'q', 'x'.repeat(1_000), `"deep":${'['.repeat(60)}${']'.repeat(60)}`),
    record(odd, 'q', 'vector', '"vectors":{"embedding":{"values":[0.1,-0,1e-7],"model":"m"}}'),
    record(odd, 'q', '😀', '"prototype":{"n":1},"constructor":null'),
    record(odd, 'q', 'large', `"text":"${'é'.repeat(40_000)}"`),
  ];
  const policies = [policy('notes', notes), policy('Odd_names.x-1', odd), policy('empty', empty)];
  const strays = Array.from({ length: 5 }, (_, n) => record(retired, 'p', `gone-${n}`));
  return { carried: [...policies, ...many, ...hard], strays };
}

/** Writes records as they are, as an earlier release may have. */
export async function fill(store: RecordStore, space: string, records: readonly RecordData[]): Promise<void> {
  for (let start = 0; start < records.length; start += TOGETHER) {
    const some = records.slice(start, start + TOGETHER);
    const keys = some.map(({ key }) => ({ key }));
    await store.transact(spaceScope(space), { keys }, () => ({
      writes: some.map((put) => ({ put })),
      result: null,
    }));
  }
}

/** Every record of the space, whole, in the order of its key. */
export async function scanned(store: RecordStore, space: string): Promise<object[]> {
  const found: object[] = [];
  const names = [POLICIES.name, RECORDS.name];
  for await (const { records } of store.scan(spaceScope(space), { collections: names, pageSize: 100 }))
    found.push(...records.map(plain));
  return found;
}

function plain({ key, head, body = null, listing = null }: RecordData): object {
  return {
    key: { ...key },
    head: { ...head },
    body,
    listing: listing && { ...listing, indexes: { ...listing.indexes } },
  };
}

/** As a scan gives them. */
export function inOrder(records: readonly RecordData[]): object[] {
  const placeOf = ({ key }: RecordData) => `${key.collection} ${key.id}`;
  return records.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1)).map(plain);
}

/** The ids that a collection lists, by way of its index. */
export async function listed(store: RecordStore, space: string, of: Incarnation): Promise<string[]> {
  const pages = listPages(store, spaceScope(space), { collection: RECORDS, group: of, limit: 50 });
  const ids: string[] = [];
  for await (const { listing } of recordsOf(pages)) ids.push(listing?.id ?? '');
  return ids;
}

export async function archived(store: RecordStore, space = SPACE, chunkBytes = CHUNK_BYTES) {
  const objects = new Objects();
  const manifest = await exportSpace(store, space, objects, { chunkBytes });
  return { objects, manifest };
}
