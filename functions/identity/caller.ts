import { limits } from '../../contracts/generated/limits.ts';
import type { PlaceOwner } from '../kernel/waiting-places.ts';

/** The identity of a caller, as far as it is proven. */
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
  /** When the proof of the principal was issued, in milliseconds of the Unix epoch, where that is known. */
  readonly issuedAt?: number | null;
}

/** In whose name a call waits. Nothing that a request says makes another owner of its caller. */
export function placeOwnerOf({ kind, principal }: Caller, taken?: () => void): PlaceOwner {
  // Policies compare principals without regard to case.
  const name = `caller ${principal?.toLowerCase() ?? kind}`;
  return { name, share: limits.waitingCallsPerPrincipalMax, ...(taken === undefined ? {} : { taken }) };
}
