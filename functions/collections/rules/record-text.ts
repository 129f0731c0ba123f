import type { Json, JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import {
  compactInSteps,
  compactJson,
  type JsonMember,
  membersInSteps,
  membersOf,
  objectInSteps,
} from '../../kernel/json-slices.ts';
import { parsedInSteps } from '../../kernel/parsed-in-steps.ts';
import { parseUtc } from '../../kernel/timestamp.ts';
import { finished } from '../../kernel/turns.ts';
import type { CollectionPolicy } from './policy.ts';
import { checkPartitionKey, checkRecordId, type PartitionedKey, type RecordValue } from './record-key.ts';
import { alwaysPresent, withoutNulls } from './stored-text.ts';
import { packedVectors, unpackedFloats } from './vector-text.ts';
import { type RecordVector, readVectors, type VectorRequest } from './vectors.ts';

/** The largest record as it is stored, in UTF-8; its vectors count as packed. */
export const RECORD_BYTES_MAX = 900_000;

/** Members of one step, which takes less than a millisecond. */
const STEP_MEMBERS = 4_096;

/** Members that the service assigns. It ignores those of a request, except `createdAt`. */
const serverOwned: ReadonlySet<string> = new Set(['etag', 'revision', 'createdAt', 'updatedAt']);
/** A record of a request, checked against the policy of its collection. */
export interface RecordInput {
  readonly key: PartitionedKey;
  /** The moment that the request names as `createdAt`, in milliseconds. */
  readonly createdAt: number | null;
  /** The text to store: members in the order of the request, numbers as written, vectors packed, without assigned members. */
  readonly text: string;
  readonly vectors: ReadonlyMap<string, RecordVector>;
  /** The value for the indexes, without members that the service assigns. */
  readonly value: RecordValue;
}

/**
 * Reads the JSON text of a record whose members have the types that its schema names, in steps: a record may have a hundred thousand
 * members. Throws `validation_failed` or `limit_exceeded` naming the member below `pointer`.
 */
export function* readRecordInSteps(
  given: string,
  policy: CollectionPolicy,
  pointer = '',
): Generator<void, RecordInput> {
  const value = yield* parsedInSteps(given);
  if (!isObject(value)) throw invalidMember(pointer, 'must be an object');
  const members = yield* membersInSteps(yield* compactInSteps(given));
  return yield* recordOf({ value, members }, policy, pointer);
}

/**
 * Reads a stored text from a copy, together with its value, like a request with this record. For a text that the service wrote, the
 * result has the same text. Throws as `readRecordInSteps` does.
 */
export function readStored(text: string, value: JsonObject, policy: CollectionPolicy): RecordInput {
  if (compactJson(text) !== text) throw invalidMember('', 'must have no white space around its members');
  const { vectors } = value;
  const unpacked = isObject(vectors) ? { vectors: unpackedFloats(vectors) as unknown as Json } : {};
  return finished(recordOf({ value: { ...value, ...unpacked }, members: membersOf(text) }, policy, ''));
}

interface GivenRecord {
  /** Used as the value of the input without a copy, which would take 40 ms for a hundred thousand members. */
  readonly value: JsonObject;
  readonly members: readonly JsonMember[];
}

function* recordOf(
  { value, members }: GivenRecord,
  policy: CollectionPolicy,
  pointer: string,
): Generator<void, RecordInput> {
  const { id, partitionKey, type } = value;
  if (typeof id !== 'string') throw invalidMember(`${pointer}/id`, 'must be a string');
  if (typeof partitionKey !== 'string') throw invalidMember(`${pointer}/partitionKey`, 'must be a string');
  if (type !== undefined && typeof type !== 'string')
    throw invalidMember(`${pointer}/type`, 'must be a string');
  const key = {
    id: checkRecordId(id, `${pointer}/id`),
    partitionKey: checkPartitionKey(partitionKey, `${pointer}/partitionKey`),
  };
  const requested = (value['vectors'] ?? {}) as unknown as Readonly<Record<string, VectorRequest>>;
  const vectors = readVectors(requested, policy, `${pointer}/vectors`);
  const text = yield* storedText(members, vectors);
  if (Buffer.byteLength(text) > RECORD_BYTES_MAX) {
    throw invalidMember(
      pointer,
      `must have at most ${RECORD_BYTES_MAX} bytes as it is stored`,
      'limit_exceeded',
    );
  }
  return {
    key,
    createdAt: momentOf(value['createdAt'], `${pointer}/createdAt`),
    text,
    vectors,
    value: withoutNulls(Object.assign(value, { ...key, type: type ?? '', vectors: valuesOf(vectors) })),
  };
}

/** The vectors as a reader of the stored text sees them. Their lists are built when read: policies hardly ever index a vector's number. */
function valuesOf(vectors: ReadonlyMap<string, RecordVector>): JsonObject {
  return Object.fromEntries(
    [...vectors].map(([name, { values, ...facts }]) => [
      name,
      {
        ...facts,
        get values() {
          return Array.from(values);
        },
      },
    ]),
  );
}

function momentOf(value: unknown, pointer: string): number | null {
  if (value === undefined || value === null) return null;
  const moment = typeof value === 'string' ? parseUtc(value) : undefined;
  if (moment === undefined) throw invalidMember(pointer, 'must be a time of RFC 3339');
  return moment;
}

function* storedText(
  given: readonly JsonMember[],
  vectors: ReadonlyMap<string, RecordVector>,
): Generator<void, string> {
  const members: JsonMember[] = [];
  const absent = new Map(alwaysPresent.map((member) => [member.name, member]));
  for (const [place, member] of given.entries()) {
    if ((place + 1) % STEP_MEMBERS === 0) yield;
    const { name, value } = member;
    if (serverOwned.has(name)) continue;
    absent.delete(name);
    const isVectors = name === 'vectors' && value !== 'null';
    if (isVectors) members.push({ name, value: packedVectors(membersOf(value), vectors) });
    else members.push(name === 'type' && value === 'null' ? { name, value: '""' } : member);
  }
  return yield* objectInSteps([...members, ...absent.values()]);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
