import type { LiveModel } from './live/model.ts';
import type { ProviderGuard } from './provider-guard.ts';
import type { ProviderTarget } from './rules/target.ts';
import type { Prices } from './rules/usage.ts';

/** A provider with the means to call it. */
export interface RegisteredProvider {
  readonly target: ProviderTarget;
  /** `null`: it is part of the service, and answers by rule. */
  readonly live: LiveProvider | null;
}

export interface LiveProvider {
  readonly model: LiveModel;
  /** The limits of the provider, which all instances of the service share. */
  readonly guard: ProviderGuard;
  readonly prices: Prices;
  readonly outputTokensMax: number;
  /** How long a job waits for a place; absent: as long as every other run. */
  readonly queueSeconds?: number | undefined;
}
