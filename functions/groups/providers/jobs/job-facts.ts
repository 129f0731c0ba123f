import type { ProviderAccess } from '../../../identity/provider-access.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import type { RegisteredProvider } from '../../../providers/registered.ts';
import type { CapabilityParts } from '../../../providers/run-capability.ts';
import type { Run } from '../../../runs/run.ts';

export const PROVIDER_HANDLER = 'svc.provider.run';

/** The layers of the jobs that run capabilities. A request always fits in its run, so nothing is staged. */
export interface ProviderLayers {
  readonly patience: PatienceParts;
  readonly capabilities: CapabilityParts;
  /** `undefined`: the settings have no such provider. */
  readonly provider: (id: string) => RegisteredProvider | undefined;
  readonly access: ProviderAccess;
}

/** What a request asks for, as the views of a whole list show it: a run has it beside its payload, which would need a read each. */
export interface ProviderJobFacts {
  readonly provider: string;
  readonly capability: string;
  readonly operation: string;
  readonly mode: string;
  /** Hash of the payload of the capability. */
  readonly requestHash: string;
}

const TAGS = {
  provider: 'svc.provider',
  capability: 'svc.provider.capability',
  operation: 'svc.provider.operation',
  mode: 'svc.provider.mode',
  requestHash: 'svc.provider.payload-hash',
} as const;

type Tags = Readonly<Record<string, string>>;

export function tagsOf(facts: ProviderJobFacts): Tags {
  return Object.fromEntries(
    Object.entries(TAGS).map(([name, tag]) => [tag, facts[name as keyof ProviderJobFacts]]),
  );
}

export function factsOf({ tags }: Pick<Run, 'tags'>): ProviderJobFacts {
  return {
    provider: tags[TAGS.provider] ?? '',
    capability: tags[TAGS.capability] ?? '',
    operation: tags[TAGS.operation] ?? '',
    mode: tags[TAGS.mode] ?? '',
    requestHash: tags[TAGS.requestHash] ?? '',
  };
}
