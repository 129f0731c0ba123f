import type { ProviderAccess } from '../../../identity/provider-access.ts';
import { jobFacts } from '../../../jobs/job-plugin.ts';
import type { PatienceParts } from '../../../providers/patience.ts';
import type { RegisteredProvider } from '../../../providers/registered.ts';
import type { CapabilityParts } from '../../../providers/run-capability.ts';

export const PROVIDER_HANDLER = 'svc.provider.run';

/** The layers of the jobs that run capabilities. A request always fits in its run, so nothing is staged. */
export interface ProviderLayers {
  readonly patience: PatienceParts;
  readonly capabilities: CapabilityParts;
  /** `undefined`: the settings have no such provider. */
  readonly provider: (id: string) => RegisteredProvider | undefined;
  readonly access: ProviderAccess;
}

/** What a request asks for. */
export interface ProviderJobFacts {
  readonly provider: string;
  readonly capability: string;
  readonly operation: string;
  readonly mode: string;
  /** Hash of the payload of the capability. */
  readonly requestHash: string;
}

export const { tagsOf, factsOf } = jobFacts<ProviderJobFacts>({
  provider: ['svc.provider', ''],
  capability: ['svc.provider.capability', ''],
  operation: ['svc.provider.operation', ''],
  mode: ['svc.provider.mode', ''],
  requestHash: ['svc.provider.payload-hash', ''],
});
