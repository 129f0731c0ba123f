import type { ProviderAccess } from '../../../identity/provider-access.ts';
import type { RegisteredProvider } from '../../../providers/registered.ts';
import type { CapabilityParts } from '../../../providers/run-capability.ts';

export const PROVIDER_HANDLER = 'svc.provider.run';

export interface ProviderJobsParts {
  readonly capabilities: CapabilityParts;
  /** `undefined`: the settings have no such provider. */
  readonly provider: (id: string) => RegisteredProvider | undefined;
  readonly access: ProviderAccess;
}
