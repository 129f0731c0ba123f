import type { Decision, Found, KeyRequest, RecordStore, TransactRequest } from '../store/port.ts';
import { isOfOtherRelease, withSeveralVersions } from './entry-version.ts';
import { policyKey, spaceScope } from './store-collections.ts';

const OTHER_RELEASE = Symbol('another release has prepared the collection');

/**
 * Writes records of the collection that `name` points at. Where the policy names the search entries of another release, the
 * same transaction takes that name away: no search of any release then answers before all entries are made anew.
 */
export async function writeBeside<R>(
  store: RecordStore,
  space: string,
  name: string,
  request: TransactRequest,
  decide: (found: Found) => Decision<R>,
): Promise<R> {
  const key = policyKey(name);
  const scope = spaceScope(space);
  const beside = { ...request, keys: [policyRequest(name), ...request.keys] };
  const first = await store.transact<R | typeof OTHER_RELEASE>(scope, beside, (found) => {
    const policy = found.get(key);
    const isOther = policy !== undefined && isOfOtherRelease(policy.head);
    return isOther ? { writes: [], result: OTHER_RELEASE } : decide(found);
  });
  if (first !== OTHER_RELEASE) return first;
  const guarding = { ...request, keys: [{ key, view: 'body' as const }, ...request.keys] };
  return store.transact(scope, guarding, (found) => {
    const policy = found.get(key);
    const decision = decide(found);
    const isOther = policy !== undefined && isOfOtherRelease(policy.head);
    if (!isOther || decision.writes.length === 0) return decision;
    return { ...decision, writes: [{ put: withSeveralVersions(policy) }, ...decision.writes] };
  });
}

export function policyRequest(name: string): KeyRequest {
  return { key: policyKey(name), view: 'body', unguarded: true };
}
