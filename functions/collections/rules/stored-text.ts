import type { Json } from '../../kernel/canonical-json.ts';
import { type JsonMember, membersOf, objectOf } from '../../kernel/json-slices.ts';
import { parseJson } from '../../kernel/json-text.ts';
import type { PartitionedKey, RecordValue } from './record-key.ts';
import { etagOf, type StoredStamp } from './record-stamp.ts';
import { packedValues, printedVectors, unpackedVectors } from './vector-text.ts';

/** Members of every answer, with the text of absent ones. */
export const alwaysPresent: readonly JsonMember[] = [
  { name: 'type', value: '""' },
  ...['schemaVersion', 'metadata', 'content', 'sources', 'vectors'].map((name) => ({ name, value: 'null' })),
];

export interface StoredText extends StoredStamp {
  readonly updatedAt: string;
  readonly text: string;
  /** Whether the text holds packed vectors. */
  readonly hasVectors: boolean;
}

/** The JSON text of a record in answers and exports. */
export function recordJson(stored: StoredText): string {
  const { text, hasVectors } = stored;
  return withAssigned(hasVectors ? objectOf(replacedVectors(membersOf(text), printedVectors)) : text, stored);
}

/** A record in an answer that names it beside its text. */
export interface NamedRecord extends PartitionedKey {
  /** Empty where the record has none. */
  readonly type: string;
  readonly json: string;
}

/** Reads the members once and parses only the names: a text may be long, and an answer has many texts. */
export function namedRecord(stored: StoredText): NamedRecord {
  const { text, hasVectors } = stored;
  const members = membersOf(text);
  const values = new Map(members.map(({ name, value }) => [name, value]));
  return {
    id: stringIn(values.get('id')),
    partitionKey: stringIn(values.get('partitionKey')),
    type: stringIn(values.get('type')),
    json: withAssigned(hasVectors ? objectOf(replacedVectors(members, printedVectors)) : text, stored),
  };
}

function stringIn(json: string | undefined): string {
  return json?.startsWith('"') === true ? (JSON.parse(json) as string) : '';
}

function withAssigned(record: string, { revision, createdAt, updatedAt }: StoredText): string {
  const times = `"createdAt":"${createdAt}","updatedAt":"${updatedAt}"`;
  const assigned = `"etag":"${etagOf(revision)}","revision":${revision},${times}`;
  return `${record.slice(0, -1)},${assigned}}`;
}

/** The record for filters and orders. A known member with the value null is absent. Vectors are included only on request. */
export function recordValue(stored: StoredText, { vectors }: { readonly vectors: boolean }): RecordValue {
  const { text, hasVectors, revision, createdAt, updatedAt } = stored;
  const unpacked = hasVectors && vectors ? objectOf(replacedVectors(membersOf(text), unpackedVectors)) : text;
  const value = parseJson(unpacked) as RecordValue;
  return Object.assign(withoutNulls(value), { etag: etagOf(revision), revision, createdAt, updatedAt });
}

/** The numbers of one vector of a record; `null` if the record has no such vector. */
export function vectorIn({ text, hasVectors }: StoredText, vector: string): Float32Array | null {
  if (!hasVectors) return null;
  const vectors = membersOf(text).find(({ name }) => name === 'vectors');
  return vectors === undefined ? null : packedValues(vectors.value, vector);
}

/** Removes null members, in place. */
export function withoutNulls(value: RecordValue): RecordValue {
  const kept: Record<string, Json> & PartitionedKey = value;
  for (const { name } of alwaysPresent) if (kept[name] === null) delete kept[name];
  return kept;
}

function replacedVectors(
  members: readonly JsonMember[],
  write: (vectors: string) => string,
): readonly JsonMember[] {
  return members.map((member) =>
    member.name === 'vectors' ? { name: member.name, value: write(member.value) } : member,
  );
}
