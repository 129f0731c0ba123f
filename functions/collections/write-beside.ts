import type { Decision, KeyRequest, LoadedRecords, RecordStore, TransactRequest } from '../store/port.ts';
import { mustWiden, widenedPolicy } from './entry-range.ts';
import { policyKey, spaceScope } from './store-collections.ts';

const NOT_WIDENED = Symbol('the policy does not have the version of the entries');

/** Where records are written, and the version of their search entries. */
export interface WrittenCollection {
  readonly name: string;
  readonly version: number;
}

/**
 * Writes records of the collection that `name` points at. Where the policy does not say that entries may have this version, or
 * a sweep makes another one, the same transaction says so and ends the sweep: a search asks for every version that there is.
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
