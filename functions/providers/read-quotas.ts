import type { RecordStore } from '../store/port.ts';
import { GUARD_SCOPE, guardKey, spaceTag, stateIn } from './guard-record.ts';
import type { GuardLimits } from './rules/guard.ts';
import type { Quotas } from './rules/models-and-quotas.ts';
import { spentOf } from './rules/spent-limits.ts';

export interface LimitedProvider {
  readonly id: string;
  readonly limits: GuardLimits;
}

/** The use of these providers' limits by a space, in the order of the providers. */
export async function readQuotas(
  store: () => Promise<RecordStore>,
  providers: readonly LimitedProvider[],
  { space, now }: { readonly space: string; readonly now: number },
): Promise<readonly Quotas[]> {
  if (providers.length === 0) return [];
  const keys = providers.map(({ id }) => ({ key: guardKey(id) }));
  const { records } = await (await store()).query(GUARD_SCOPE, { by: 'keys', keys });
  const heads = new Map(records.map(({ key, head }) => [key.id, head]));
  return providers.map(({ id, limits }) =>
    spentOf(stateIn(heads.get(guardKey(id).id)), limits, { space: spaceTag(id, space), now }),
  );
}
