import { ServiceError } from '../../kernel/errors.ts';
import type { RegisteredProvider } from '../../providers/registered.ts';
import { inOrder } from '../../providers/rules/matrix.ts';
import type { ProviderTarget } from '../../providers/rules/target.ts';
import type { ProvidersOfGroup } from './dependencies.ts';

/** Throws `not_found` for a provider that is not registered. */
export function knownProvider({ find }: ProvidersOfGroup, id: string): RegisteredProvider {
  const provider = find(id);
  if (provider === undefined) throw new ServiceError('not_found', 'There is no such provider.');
  return provider;
}

/** The targets of all providers, in the order of their ids. */
export function targetsOf({ all }: ProvidersOfGroup): readonly ProviderTarget[] {
  return inOrder(all.map(({ target }) => target));
}
