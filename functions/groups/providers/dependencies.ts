import type { ProviderDoctorCheck } from '../../../contracts/generated/models.ts';
import type { ProviderAccess } from '../../identity/provider-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { LimitedProvider } from '../../providers/read-quotas.ts';
import type { RegisteredProvider } from '../../providers/registered.ts';
import type { CapabilityParts } from '../../providers/run-capability.ts';
import type { ProviderJobDependencies } from './jobs/admit-provider-job.ts';

/** The parts that the operations of the group work with. */
export interface ProvidersDependencies {
  readonly providers: ProvidersOfGroup;
  readonly capabilities: CapabilityParts;
  /** Whether callers of the service need an API key. */
  readonly authRequired: boolean;
  readonly newTraceId: () => string;
  /** The jobs that run capabilities. */
  readonly providerJobs: ProviderJobDependencies;
  readonly pageTokens: PageTokens;
  /** Names the space of each caller. */
  readonly access: ProviderAccess;
}

export interface ProvidersOfGroup {
  readonly all: readonly RegisteredProvider[];
  /** `undefined`: there is no such provider. */
  readonly find: (id: string) => RegisteredProvider | undefined;
  /** The limits of calls and tokens of the providers over the network. */
  readonly limited: readonly LimitedProvider[];
  /** What is found out about a provider without a call of it, beside what its target says. */
  readonly checks: (id: string) => Promise<readonly ProviderDoctorCheck[]>;
}
