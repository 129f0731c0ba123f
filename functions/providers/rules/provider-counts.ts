/** The facts of a provider that readiness counts. */
export interface CountedProvider {
  /** Whether it is part of the service; each call of another goes over the network. */
  readonly isLocal: boolean;
  readonly needsCredential: boolean;
  /** Whether the settings let the service call it. */
  readonly isEnabled: boolean;
  /** How many requests or tokens it may get; true for one that costs nothing. */
  readonly isLimited: boolean;
  readonly capabilities: number;
  /** The number of capabilities that were qualified. */
  readonly validated: number;
}

/** The providers in numbers: no id, no address. Pure. */
export function countsOf(providers: readonly CountedProvider[]) {
  const count = (test: (each: CountedProvider) => boolean) => providers.filter(test).length;
  const sum = (numberOf: (each: CountedProvider) => number) =>
    providers.reduce((total, each) => total + numberOf(each), 0);
  const callable = sum(({ isEnabled, capabilities }) => (isEnabled ? capabilities : 0));
  const ready = sum(({ isEnabled, validated }) => (isEnabled ? validated : 0));
  return {
    providerCount: providers.length,
    capabilityCount: sum(({ capabilities }) => capabilities),
    callableCapabilityCount: callable,
    readyCapabilityCount: ready,
    unvalidatedCapabilityCount: callable - ready,
    networkProviderCount: count(({ isLocal }) => !isLocal),
    authProviderCount: count(({ needsCredential }) => needsCredential),
  };
}

/** The check `providers.readiness`: a warning while a capability that may be called is not proven to work. */
export function readinessCheckOf(providers: readonly CountedProvider[]) {
  const { callableCapabilityCount, readyCapabilityCount, unvalidatedCapabilityCount } = countsOf(providers);
  const details = { callableCapabilityCount, readyCapabilityCount, unvalidatedCapabilityCount };
  const id = 'providers.readiness';
  return unvalidatedCapabilityCount === 0
    ? { id, status: 'ok' as const, message: 'Each capability of the providers was proven to work.', details }
    : {
        id,
        status: 'warning' as const,
        message: 'Capabilities of providers were not proven to work with these settings.',
        details,
      };
}

/** The check `providers.limits` of readiness. */
export function limitsCheckOf(providers: readonly CountedProvider[]) {
  const unlimited = providers.filter(({ isEnabled, isLimited }) => isEnabled && !isLimited).length;
  const message =
    unlimited === 0
      ? 'Each provider that is called over the network has a limit.'
      : 'Providers that are called over the network have no limit of calls or tokens.';
  const details = { unlimitedProviderCount: unlimited };
  return { id: 'providers.limits', status: 'ok' as const, message, details };
}
