import { ServiceError } from '../kernel/errors.ts';
import type { WorkloadIdentity } from './workload.ts';

export interface DevelopmentIdentityOptions {
  /** Name of the header that names the principal. */
  readonly headerName: string;
}

/**
 * Takes the principal from a header without a proof, so that access policies can be tried without an issuer of tokens. The
 * configuration refuses this outside Development.
 */
export function createDevelopmentIdentity({ headerName }: DevelopmentIdentityOptions): WorkloadIdentity {
  const header = headerName.toLowerCase();
  return {
    identify(headers) {
      const principal = headers.get(header)?.trim() ?? '';
      if (principal === '') return Promise.resolve(null);
      if (/^[\x21-\x7e]{1,254}$/.test(principal)) return Promise.resolve({ principal, issuedAt: null });
      const detail = 'The development identity is not a name of 1 to 254 visible ASCII characters.';
      return Promise.reject(new ServiceError('unauthenticated', detail));
    },
  };
}
