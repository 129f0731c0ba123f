import type { GroupHandlers } from '../../http/handler.ts';
import { readQuotas } from '../../providers/read-quotas.ts';
import { type Quotas, quotaOf, unknownQuota } from '../../providers/rules/models-and-quotas.ts';
import type { ProviderTarget } from '../../providers/rules/target.ts';
import type { ProvidersDependencies } from './dependencies.ts';
import { targetsOf } from './known-provider.ts';

type Handlers = GroupHandlers<'providers'>;

const UNLIMITED: Quotas = { callsOfMinute: null, tokensOfDay: null };

async function quotas(
  { providers, capabilities }: ProvidersDependencies,
  targets: readonly ProviderTarget[],
  of: { readonly space: string; readonly now: number },
) {
  const limited = providers.limited.filter(({ id }) => targets.some((target) => target.id === id));
  const spent = await readQuotas(capabilities.store, limited, of);
  const byId = new Map(limited.map(({ id }, at) => [id, spent[at]]));
  return targets.map((target) => quotaOf(target, byId.get(target.id) ?? UNLIMITED, of.now));
}

export function listProviderQuotas(dependencies: ProvidersDependencies): Handlers['listProviderQuotas'] {
  const targets = targetsOf(dependencies.providers);
  return async (_, { caller, now }) => {
    const space = dependencies.access.spaceOf(caller, 'read');
    return { status: 200, body: await quotas(dependencies, targets, { space, now }) };
  };
}

export function getProviderQuota(dependencies: ProvidersDependencies): Handlers['getProviderQuota'] {
  return async ({ params: { provider } }, { caller, now }) => {
    const space = dependencies.access.spaceOf(caller, 'read');
    const target = dependencies.providers.find(provider)?.target;
    const [known] = target === undefined ? [] : await quotas(dependencies, [target], { space, now });
    return { status: 200, body: known ?? unknownQuota(provider, now) };
  };
}
