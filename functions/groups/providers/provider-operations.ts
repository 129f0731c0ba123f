import type { GroupHandlers } from '../../http/handler.ts';
import { capabilityMatrix } from '../../providers/rules/matrix.ts';
import { modelsOf, unknownModels } from '../../providers/rules/models-and-quotas.ts';
import { descriptorOf, profileOf } from '../../providers/rules/profile.ts';
import { operationalLimits } from '../../providers/rules/run-limits.ts';
import type { ProvidersDependencies } from './dependencies.ts';
import { knownProvider, targetsOf } from './known-provider.ts';

type Handlers = GroupHandlers<'providers'>;

export function listProviders({ providers }: ProvidersDependencies): Handlers['listProviders'] {
  return async () => ({ status: 200, body: targetsOf(providers).map(profileOf) });
}

export function getProviderCapabilityMatrix({
  providers,
  capabilities,
  authRequired,
}: ProvidersDependencies): Handlers['getProviderCapabilityMatrix'] {
  const limits = operationalLimits(capabilities.limits, authRequired);
  return async (_, { now }) => ({ status: 200, body: capabilityMatrix(targetsOf(providers), limits, now) });
}

export function getProvider({ providers }: ProvidersDependencies): Handlers['getProvider'] {
  return async ({ params: { provider } }) => ({
    status: 200,
    body: descriptorOf(knownProvider(providers, provider).target),
  });
}

export function listProviderModels({ providers }: ProvidersDependencies): Handlers['listProviderModels'] {
  return async ({ params: { provider } }, { now }) => {
    const target = providers.find(provider)?.target;
    return {
      status: 200,
      body: target === undefined ? unknownModels(provider, now) : modelsOf(target, now),
    };
  };
}
