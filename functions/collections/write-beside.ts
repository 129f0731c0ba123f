import type { Decision, KeyRequest, LoadedRecords, RecordStore, TransactRequest } from '../store/port.ts';
import { mustWiden, widenedPolicy } from './entry-range.ts';
import { policyKey, spaceScope } from './store-collections.ts';

const NOT_WIDENED = Symbol('the policy does not have the version of the entries');

/** The collection that is written, and the version of its new search entries. */
export interface WrittenCollection {
  readonly name: string;
  readonly version: number;
}

/**
 * Writes records of the collection that `name` points at. If the version range in the policy record does not include the version of
 * the new entries, or a sweep writes another version, the same transaction widens the range and ends the sweep: searches read only
 * the versions in the range.
 */
export async function writeBeside<R>(
  store: RecordStore,
  space: string,
  { name, version }: WrittenCollection,
  request: TransactRequest,
  decide: (found: LoadedRecords) => Decision<R>,
): Promise<R> {
  const key = policyKey(name);
  const scope = spaceScope(space);
  const beside = { ...request, keys: [policyRequest(name), ...request.keys] };
  const first = await store.transact<R | typeof NOT_WIDENED>(scope, beside, (found) => {
    const policy = found.get(key);
    const isNarrow = policy !== undefined && mustWiden(policy.head, version);
    return isNarrow ? { writes: [], result: NOT_WIDENED } : decide(found);
  });
  if (first !== NOT_WIDENED) return first;
  const guarding = { ...request, keys: [{ key, view: 'body' as const }, ...request.keys] };
  return store.transact(scope, guarding, (found) => {
    const policy = found.get(key);
    const decision = decide(found);
    const isNarrow = policy !== undefined && mustWiden(policy.head, version);
    if (!isNarrow || decision.writes.length === 0) return decision;
    return { ...decision, writes: [{ put: widenedPolicy(policy, version) }, ...decision.writes] };
  });
}

export function policyRequest(name: string): KeyRequest {
  return { key: policyKey(name), view: 'body', unguarded: true };
}
