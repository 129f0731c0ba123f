import { hash } from 'node:crypto';
import type { Json, JsonObject } from '../kernel/canonical-json.ts';
import { membersInSteps } from '../kernel/json-slices.ts';
import type { Head, RecordData } from '../store/port.ts';
import type { Incarnation } from './rules/incarnation.ts';
import type { RecordFacts } from './rules/inspection.ts';
import type { RecordPath } from './rules/path.ts';
import { type ProjectedValues, projectedPaths, projectValues } from './rules/projection.ts';
import { orderKey, type PartitionedKey } from './rules/record-key.ts';
import type { RecordStamp } from './rules/record-stamp.ts';
import { type RecordInput, readRecordInSteps } from './rules/record-text.ts';
import { type StoredText, vectorIn } from './rules/stored-text.ts';
import { cutToBytes } from './rules/text-order.ts';
import type { RecordVector } from './rules/vectors.ts';
import type { RecordSearch } from './search/entry.ts';
import type { EntryFormat } from './search/formats.ts';
import { recordKey } from './store-collections.ts';
import type { StoredCollection } from './stored-collection.ts';
import { indexText, storedText } from './stored-content.ts';

const FACT_BYTES_MAX = 200;
const FACT_CUT_BYTES = 150;

type RecordPlace = Pick<StoredCollection, 'incarnation' | 'policy'>;

/** A record of a request with its search entry. */
export interface FindableRecord extends RecordInput {
  readonly search: RecordSearch;
}

/**
 * Reads the JSON text of a record and makes its search entry, in steps, because a record may be long. Call it once for a record,
 * before the transaction that writes it: a transaction may run its decision again. Throws as `readRecordInSteps` does.
 */
export function* findableText(
  place: RecordPlace,
  text: string,
  format: EntryFormat,
): Generator<void, FindableRecord> {
  return yield* findableRecord(place, yield* readRecordInSteps(text, place.policy), format);
}

/**
 * A record with its search entry, in steps.
 * @testonly
 */
export function* findableRecord(
  { incarnation, policy }: RecordPlace,
  input: RecordInput,
  format: EntryFormat,
): Generator<void, FindableRecord> {
  return { ...input, search: yield* format.entryOf(input, policy, incarnation) };
}

/** The search entry of a stored record, as a writer of the format would make it; in steps. */
export function* storedSearch(
  { incarnation, policy }: RecordPlace,
  record: RecordData,
  format: EntryFormat,
): Generator<void, RecordSearch> {
  const stored = storedText(record);
  const { id, partitionKey } = yield* keyIn(stored);
  const vectors = new Map(
    policy.vectorPolicies.flatMap(({ name }) => {
      const values = vectorIn(stored, name);
      return values === null ? [] : [[name, { values }] as const];
    }),
  );
  const { text } = stored;
  return yield* format.entryOf({ key: { id, partitionKey }, text, vectors }, policy, incarnation);
}

/** The key in a stored text; skips the values of its other members. */
function* keyIn({ text }: StoredText): Generator<void, PartitionedKey> {
  const key = { id: '', partitionKey: '' };
  for (const { name, value } of yield* membersInSteps(text))
    if (name === 'id' || name === 'partitionKey') key[name] = JSON.parse(value) as string;
  return key;
}

/** The store's record of an accepted write. */
export function recordData(
  { incarnation, policy }: RecordPlace,
  { key, text, vectors, value, search }: FindableRecord,
  stamp: RecordStamp,
): RecordData {
  const { revision, createdAt, updatedAt } = stamp;
  const facts = factsHead({ ...key, ...factsOf(value, vectors) });
  return {
    key: recordKey(incarnation, key),
    head: withTermsLeftOut({ revision, createdAt, updatedAt, ...facts }, search),
    body: text,
    search: search.entry,
    listing: {
      group: incarnation,
      id: orderKey(key),
      hidden: false,
      indexes: storedIndexes(
        incarnation,
        indexedValues(value, stamp, projectedPaths(policy.indexedMetadata)),
      ),
    },
  };
}

/** Copies only the members with which the paths begin: a record may have a hundred thousand. */
function indexedValues(value: JsonObject, stamp: RecordStamp, paths: readonly RecordPath[]): ProjectedValues {
  const names = new Set(paths.map(({ segments: [first = ''] }) => first));
  const members = [...names].flatMap((name): [string, Json][] => {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    return member === undefined ? [] : [[name, member]];
  });
  return projectValues({ ...Object.fromEntries(members), ...stamp }, paths);
}

/** The head of a record with its number of terms that no index holds. */
export function withTermsLeftOut(head: Head, { termsLeftOut }: RecordSearch): Head {
  const { termsLeftOut: _, ...others } = head;
  return termsLeftOut === 0 ? others : { ...others, termsLeftOut };
}

function storedIndexes(
  incarnation: Incarnation,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, indexText(incarnation, value)]),
  );
}

/** The key and the stamps in a stored text. */
type WrittenFacts = Omit<RecordFacts, 'termsLeftOut'>;

function factsOf(
  { type, metadata }: RecordInput['value'],
  vectors: ReadonlyMap<string, RecordVector>,
): Omit<WrittenFacts, 'id' | 'partitionKey'> {
  return {
    type: bounded(type) ?? '',
    documentId: bounded(memberOf(metadata, 'documentId')),
    embeddingProvider: bounded(memberOf(metadata, 'embeddingProvider')),
    embeddingModel: bounded(memberOf(metadata, 'embeddingModel')),
    vectors: [...vectors].map(([name, { values, model, sourceField }]) => ({
      name,
      dimensions: values.length,
      model: bounded(model ?? undefined),
      sourceField: bounded(sourceField ?? undefined),
    })),
  };
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, Json>>)[name];
}

/** Shortens a long text so that different texts stay different. */
function bounded(text: Json | undefined): string | null {
  if (typeof text !== 'string') return null;
  if (Buffer.byteLength(text) <= FACT_BYTES_MAX) return text;
  return `${cutToBytes(text, FACT_CUT_BYTES)}~${hash('sha256', text, 'base64url')}`;
}

function factsHead({ vectors, ...facts }: WrittenFacts): Head {
  // Most records have few of these members, and a head is read with every write.
  const present = Object.entries(facts).filter(([, value]) => value !== null);
  return {
    ...Object.fromEntries(present),
    ...(vectors.length === 0 ? {} : { vectors: JSON.stringify(vectors) }),
  };
}
