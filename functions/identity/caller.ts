import { limits } from '../../contracts/generated/limits.ts';
import type { PlaceOwner } from '../kernel/waiting-places.ts';

/** The proven identity of a caller. */
export interface Caller {
  /**
   * - `anonymous`: the operation needs no credential, or the request carries none.
   * - `development`: the open development mode.
   * - `api-key`: a known API key, which cannot express a tenant.
   * - `workload`: a verified identity, whose `principal` the access policies name.
   */
  readonly kind: 'anonymous' | 'development' | 'api-key' | 'workload';
  /** The verified principal, or `null` without a verified identity. */
  readonly principal: string | null;
  /** Time at which the proof of the principal was issued, in milliseconds of the Unix epoch; absent or `null` if it is unknown. */
  readonly issuedAt?: number | null;
}

/** The owner to which a waiting call is counted. It depends on the proven identity alone, and not on the content of a request. */
export function placeOwnerOf({ kind, principal }: Caller, taken?: () => void): PlaceOwner {
  // Policies compare principals without regard to case.
  const name = `caller ${principal?.toLowerCase() ?? kind}`;
  return { name, share: limits.waitingCallsPerPrincipalMax, ...(taken === undefined ? {} : { taken }) };
}
