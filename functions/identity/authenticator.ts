import type { OperationEntry } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ApiKeys } from './api-keys.ts';
import type { Caller } from './caller.ts';
import type { CredentialHeaders } from './credentials.ts';
import type { WorkloadIdentity } from './workload.ts';

/** Finds the caller from the headers alone. Throws `unauthenticated` for a missing or wrong credential. */
export interface Authenticator {
  authenticate(headers: CredentialHeaders, operation: AuthenticatedOperation): Promise<Caller>;
}

/** The members of an operation that an authenticator reads. */
export type AuthenticatedOperation = Pick<OperationEntry, 'id' | 'authorizationClass'> &
  Partial<Pick<OperationEntry, 'group'>>;

export interface AuthenticatorOptions {
  /** Absent where no key is configured. */
  readonly apiKeys?: ApiKeys;
  /** Whether every operation that is not anonymous needs a known key. */
  readonly apiKeyRequired: boolean;
  /** By authorization class. A token is verified only for a class whose policy reads it, with the settings of that class. */
  readonly workloads?: Readonly<Record<string, WorkloadIdentity>>;
  /** The caller of a request without a credential, such as the open development identity. */
  readonly otherwise: Caller;
}

export const anonymous: Caller = { kind: 'anonymous', principal: null };

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { apiKeys, apiKeyRequired, workloads = {}, otherwise } = options;
  if (apiKeyRequired && !apiKeys) throw new Error('an API key is required, but none is configured');
  return {
    async authenticate(headers, operation) {
      // Ignore credentials of open operations: a wrong one must not fail a health check.
      if (operation.authorizationClass === 'anonymous') return anonymous;
      const keyKnown = (await apiKeys?.check(headers)) ?? false;
      if (apiKeyRequired && !keyKnown) throw new ServiceError('unauthenticated', 'An API key is needed.');
      const workload = Object.hasOwn(workloads, operation.authorizationClass)
        ? workloads[operation.authorizationClass]
        : undefined;
      // If keys are configured, a bearer token counts as a key, unless the key header carries the key.
      const fromAuthorization = !apiKeys || apiKeys.usesHeader(headers);
      const verified = await workload?.identify(headers, { fromAuthorization });
      if (verified) return { kind: 'workload', ...verified };
      return keyKnown ? { kind: 'api-key', principal: null } : otherwise;
    },
  };
}
