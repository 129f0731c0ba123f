import type { GroupHandlers } from '../../http/handler.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { qualify } from '../../providers/qualify.ts';
import type { OfferedCapability } from '../../providers/rules/capabilities.ts';
import { modePolicyOf } from '../../providers/rules/modes.ts';
import type { ProviderTarget } from '../../providers/rules/target.ts';
import type { ProvidersDependencies } from './dependencies.ts';
import { knownProvider } from './known-provider.ts';

const MODE_DEFAULT = 'mechanics';

export function qualifyProvider({
  providers,
  capabilities: parts,
  newTraceId,
  access,
}: ProvidersDependencies): GroupHandlers<'providers'>['qualifyProvider'] {
  return async ({ params: { provider: id }, body }, { caller, correlationId, signal }) => {
    const space = access.spaceOf(caller, 'qualify');
    const provider = knownProvider(providers, id);
    const capabilities = wantedOf(provider.target, body.capability ?? null);
    const mode = body.mode ?? MODE_DEFAULT;
    if (modePolicyOf(mode, provider.target.isLocal) === undefined)
      throw invalidMember('/mode', 'must be one of the modes of the provider');
    const wanted = { capabilities, mode, space, correlationId, signal, newTraceId };
    return { status: 200, body: [...(await qualify(parts, provider, wanted))] };
  };
}

function wantedOf(target: ProviderTarget, capability: string | null): readonly OfferedCapability[] {
  if (capability === null) return target.capabilities;
  const wanted = target.capabilities.filter((each) => each === capability);
  if (wanted.length === 0) throw invalidMember('/capability', 'must be a capability of the provider');
  return wanted;
}
