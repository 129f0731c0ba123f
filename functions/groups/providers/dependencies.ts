import type { ProviderDoctorCheck } from '../../../contracts/generated/models.ts';
import type { JobFamily } from '../../jobs/job-family.ts';
import type { LimitedProvider } from '../../providers/read-quotas.ts';
import type { RegisteredProvider } from '../../providers/registered.ts';
import type { ProviderLayers } from './jobs/job-view.ts';

/** The parts that the operations of the group work with. */
export interface ProvidersDependencies extends JobFamily<ProviderLayers> {
  readonly providers: ProvidersOfGroup;
  /** Whether callers of the service need an API key. */
  readonly authRequired: boolean;
  readonly newTraceId: () => string;
}

export interface ProvidersOfGroup {
  readonly all: readonly RegisteredProvider[];
  /** `undefined` for an unknown provider. */
  readonly find: (id: string) => RegisteredProvider | undefined;
  /** The limits of calls and tokens of the providers over the network. */
  readonly limited: readonly LimitedProvider[];
  /** Checks of a provider that need no call of it, beside those from its target. */
  readonly checks: (id: string) => Promise<readonly ProviderDoctorCheck[]>;
}
