import type { Validator } from '../../../contracts/validator.ts';
import { count, moment, same, text } from '../../archives/checks.ts';
import { bodyValue } from '../../archives/stored-record.ts';
import { canonicalJson, type Json, type JsonObject } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { Listing } from '../../store/port.ts';
import { creationIn } from '../rules/creation.ts';
import { type Incarnation, isIncarnation } from '../rules/incarnation.ts';
import { type CollectionPolicy, type PolicyRequest, readPolicy } from '../rules/policy.ts';
import { orderKey } from '../rules/record-key.ts';
import { readStored } from '../rules/record-text.ts';
import { COLLECTION_GROUP, POLICIES, policyKey, recordKey } from '../store-collections.ts';
import type { SpaceEntry } from './archive-lines.ts';

/** The models of the requests that write policies and records. */
export interface EntryShapes {
  readonly policy: Validator;
  readonly record: Validator;
}

/** Loaded only by restores: these models would make the start of other programs a third longer. */
export async function entryShapes(): Promise<EntryShapes> {
  const [collections, records] = await Promise.all([
    import('../../../contracts/generated/validators/collections.js'),
    import('../../../contracts/generated/validators/records.js'),
  ]);
  return {
    policy: collections.requestValidators.createCollection,
    record: records.requestValidators.upsertRecord,
  };
}

/**
 * Checks that a request could have written each entry, that its key matches its content, and that each record belongs to a
 * collection of the archive. Policies come first, because their name precedes that of records.
 */
export class EntryChecks {
  readonly #policies = new Map<string, CollectionPolicy>();
  readonly #shapes: EntryShapes;

  constructor(shapes: EntryShapes) {
    this.#shapes = shapes;
  }

  /** Throws a `ServiceError` that names the member. */
  check(entry: SpaceEntry): void {
    const { listing } = entry;
    if (listing === null) throw invalidMember('/listing', 'must be an object');
    if (entry.collection === POLICIES.name) this.#policy(entry, listing);
    else this.#record(entry, listing);
  }

  #policy({ id, head, body }: SpaceEntry, listing: Listing): void {
    same(listing.group, COLLECTION_GROUP, 'the group of collections', '/listing/group');
    same(id, policyKey(listing.id).id, 'the id of the name that it lists', '/id');
    const policy = policyOf(body, this.#shapes.policy);
    same(policy.name, listing.id, 'a policy of the name that it lists', '/body');
    const incarnation = text(head['incarnation'], '/head/incarnation');
    if (!isIncarnation(incarnation)) throw invalidMember('/head/incarnation', 'must be an incarnation');
    if (!isIncarnation(creationIn(head))) throw invalidMember('/head/creation', 'must be an incarnation');
    if (this.#policies.has(incarnation))
      throw invalidMember('/head/incarnation', 'is that of another collection');
    this.#policies.set(incarnation, policy);
  }

  #record(entry: SpaceEntry, { group, id: listed }: Listing): void {
    const { id, head, body } = entry;
    const policy = this.#policies.get(group);
    if (policy === undefined) throw invalidMember('/listing/group', 'names no collection of the archive');
    const held = objectOf(body);
    const key = {
      id: text(held['id'], '/body/id'),
      partitionKey: text(held['partitionKey'], '/body/partitionKey'),
    };
    same(id, recordKey(group as Incarnation, key).id, 'the id of what the record names', '/id');
    count(head['revision'], 1, Number.MAX_SAFE_INTEGER, '/head/revision');
    for (const name of ['createdAt', 'updatedAt']) moment(head[name], `/head/${name}`);
    same(listed, orderKey(key), 'the order key of the record', '/listing/id');
    requireShape(this.#shapes.record, withoutNumbers(held));
    sameWritten(body ?? '', held, policy);
  }
}

/** The error names no member of the model: the author of the archive chose some of these names. */
function requireShape(validator: Validator, value: unknown): void {
  if (!validator(value)) throw invalidMember('/body', 'must have the form of its model');
}

/** The policy of a body, as the creation of a collection would store it. */
function policyOf(body: string | null, shape: Validator): CollectionPolicy {
  const given = objectOf(body);
  requireShape(shape, given);
  const policy = readPolicy(given as unknown as PolicyRequest, '/body');
  if (canonicalJson(policy) !== canonicalJson(given))
    throw invalidMember('/body', 'must be a policy as it is stored');
  return policy;
}

/** Checks that a request with the record would store the same text. */
function sameWritten(written: string, value: JsonObject, policy: CollectionPolicy): void {
  if (readStored(written, value, policy).text !== written)
    throw invalidMember('/body', 'must be a record as it is stored');
}

/** A record with lists in the place of its packed numbers, which are judged by the policy. */
function withoutNumbers(value: JsonObject): JsonObject {
  const { vectors } = value;
  if (!isObject(vectors)) return value;
  const lists = Object.entries(vectors).map(([name, vector]) => [
    name,
    isObject(vector) ? { ...vector, values: [] } : vector,
  ]);
  return { ...value, vectors: Object.fromEntries(lists) as JsonObject };
}

function objectOf(body: string | null): JsonObject {
  const value = body === null ? null : bodyValue(body);
  if (isObject(value)) return value;
  throw invalidMember('/body', 'must be the text of an object');
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
