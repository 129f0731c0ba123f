import { count, moment, same, text } from '../../archives/checks.ts';
import { bodyValue } from '../../archives/stored-record.ts';
import { invalidMember } from '../../kernel/errors.ts';
import type { Listing } from '../../store/port.ts';
import { type Incarnation, isIncarnation } from '../rules/incarnation.ts';
import { orderKey } from '../rules/record-key.ts';
import { COLLECTION_GROUP, POLICIES, policyKey, recordKey } from '../store-collections.ts';
import type { SpaceEntry } from './archive-lines.ts';

/**
 * That each entry lies under the key that its content names, and that each record belongs to a collection of the archive:
 * otherwise it would be stored and never found. Policies come first, because their name precedes that of records.
 */
export class EntryChecks {
  readonly #incarnations = new Set<string>();

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
    same(objectOf(body)['name'], listing.id, 'a policy of the name that it lists', '/body');
    const incarnation = text(head['incarnation'], '/head/incarnation');
    if (!isIncarnation(incarnation)) throw invalidMember('/head/incarnation', 'must be an incarnation');
    if (this.#incarnations.has(incarnation))
      throw invalidMember('/head/incarnation', 'is that of another collection');
    this.#incarnations.add(incarnation);
  }

  #record({ id, head, body }: SpaceEntry, { group, id: listed }: Listing): void {
    if (!this.#incarnations.has(group))
      throw invalidMember('/listing/group', 'names no collection of the archive');
    const held = objectOf(body);
    const key = {
      id: text(held['id'], '/body/id'),
      partitionKey: text(held['partitionKey'], '/body/partitionKey'),
    };
    same(id, recordKey(group as Incarnation, key).id, 'the id of what the record names', '/id');
    count(head['revision'], 1, Number.MAX_SAFE_INTEGER, '/head/revision');
    for (const name of ['createdAt', 'updatedAt']) moment(head[name], `/head/${name}`);
    same(listed, orderKey(key), 'the order key of the record', '/listing/id');
  }
}

function objectOf(body: string | null): Readonly<Record<string, unknown>> {
  const value = body === null ? null : bodyValue(body);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw invalidMember('/body', 'must be the text of an object');
}
