import type { RecordData } from '../store/port.ts';
import { StoreError } from '../store/port.ts';
import { type EntryRange, withRange } from './entry-range.ts';
import { type Incarnation, isIncarnation } from './rules/incarnation.ts';
import type { CollectionPolicy } from './rules/policy.ts';
import { COLLECTION_GROUP, policyKey } from './store-collections.ts';

/** A collection name of a space, with the policy and the incarnation that it points at. */
export interface StoredCollection {
  readonly name: string;
  readonly incarnation: Incarnation;
  /** The policy as it was first stored. */
  readonly policy: CollectionPolicy;
  readonly createdAt: string;
}

/** The store's record that makes `name` point at the incarnation, whose records have search entries in the range. */
export function policyRecord(
  { name, incarnation, policy, createdAt }: StoredCollection,
  entries: EntryRange,
): RecordData {
  return {
    key: policyKey(name),
    head: withRange({ incarnation, createdAt }, entries),
    body: JSON.stringify(policy),
    listing: { group: COLLECTION_GROUP, id: name, hidden: false, indexes: {} },
  };
}

/** Reads a record that `policyRecord` wrote, with its body. Throws `corrupt`. */
export function collectionOf({ head, body }: RecordData): StoredCollection {
  const incarnation = incarnationIn(head);
  if (typeof body !== 'string') throw new StoreError('corrupt', 'a collection has no policy');
  // The members of the stored policy have the names of the contract.
  const policy = JSON.parse(body) as CollectionPolicy;
  return { name: policy.name, incarnation, policy, createdAt: String(head['createdAt']) };
}

/** The incarnation in the head of a collection's record. Throws `corrupt`. */
export function incarnationIn(head: RecordData['head']): Incarnation {
  const incarnation = String(head['incarnation']);
  if (!isIncarnation(incarnation)) throw new StoreError('corrupt', 'a collection has no incarnation');
  return incarnation;
}
