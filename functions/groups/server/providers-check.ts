import type { ServerReadinessCheck } from '../../../contracts/generated/models.ts';
import {
  type CountedProvider,
  limitsCheckOf,
  readinessCheckOf,
} from '../../providers/rules/provider-counts.ts';
import type { ServerDependencies } from './dependencies.ts';

/** Time during which all readers, who are anonymous, share one answer of the database. */
const KEPT_MS = 5_000;

export interface ProvidersChecked {
  readonly providers: readonly CountedProvider[];
  readonly checks: readonly ServerReadinessCheck[];
}

const NONE: ProvidersChecked = { providers: [], checks: [] };

/** The checks of providers; none if the service runs no capabilities. Another check reports a store that does not answer. */
export function providersCheck({
  providers,
}: Pick<ServerDependencies, 'providers'>): (now: number) => Promise<ProvidersChecked> {
  let kept: { readonly at: number; readonly checked: Promise<ProvidersChecked> } | null = null;
  return async (now) => {
    if (providers === undefined) return NONE;
    if (kept === null || Math.abs(now - kept.at) >= KEPT_MS)
      kept = { at: now, checked: providers.counted().then(checked, () => unknown) };
    return kept.checked;
  };
}

function checked(providers: readonly CountedProvider[]): ProvidersChecked {
  return { providers, checks: [limitsCheckOf(providers), readinessCheckOf(providers)] };
}

const unknown: ProvidersChecked = {
  providers: [],
  checks: [
    {
      id: 'providers.readiness',
      status: 'warning',
      message: 'The proven capabilities of the providers cannot be read.',
      details: {},
    },
  ],
};
