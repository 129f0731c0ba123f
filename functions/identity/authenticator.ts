import type { OperationEntry } from '../../contracts/operation.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { ApiKeys } from './api-keys.ts';
import type { Caller } from './caller.ts';
import type { CredentialHeaders } from './credentials.ts';

/** Decides from the headers alone who is calling; throws `unauthenticated` for a credential that is missing or wrong. */
export interface Authenticator {
  authenticate(headers: CredentialHeaders, operation: AuthenticatedOperation): Promise<Caller>;
}

/** What an authenticator has to know of the operation. */
export type AuthenticatedOperation = Pick<OperationEntry, 'id' | 'authorizationClass'>;

/**
 * A proof of identity that names a principal, such as an OIDC token. `identify` answers `null` where the request carries no
 * credential of this kind, and throws `unauthenticated` for one that does not hold.
 */
export interface WorkloadIdentity {
  identify(headers: CredentialHeaders, options: WorkloadIdentityOptions): Promise<string | null>;
}

export interface WorkloadIdentityOptions {
  /**
   * Whether a bearer token in `Authorization` may be the identity. It may not where API keys are in use, because there it
   * is an attempt at a key; the identity then comes in `X-Serverless-Authorization`.
   */
  readonly fromAuthorization: boolean;
}

export interface AuthenticatorOptions {
  /** Absent where no key is configured. */
  readonly apiKeys?: ApiKeys;
  /** Whether every operation that is not anonymous needs a known key. */
  readonly apiKeyRequired: boolean;
  /** Asked for the classes of `workloadClasses` only: a token is verified where a policy will read it. */
  readonly workload?: WorkloadIdentity;
  readonly workloadClasses?: ReadonlySet<string>;
  /** Who is calling where no credential was given, such as the open development identity. */
  readonly otherwise: Caller;
}

export const anonymous: Caller = { kind: 'anonymous', principal: null };

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { apiKeys, apiKeyRequired, workload, otherwise } = options;
  const workloadClasses = options.workloadClasses ?? new Set(['canonical-policy']);
  if (apiKeyRequired && !apiKeys) throw new Error('an API key is required, but none is configured');
  return {
    async authenticate(headers, operation) {
      // Open to everybody: no credential is read, so a wrong one does no harm to a health check.
      if (operation.authorizationClass === 'anonymous') return anonymous;
      const keyKnown = apiKeys?.check(headers) ?? false;
      if (apiKeyRequired && !keyKnown) throw new ServiceError('unauthenticated', 'An API key is needed.');
      if (workload && workloadClasses.has(operation.authorizationClass)) {
        const principal = await workload.identify(headers, { fromAuthorization: !apiKeys });
        if (principal !== null) return { kind: 'workload', principal };
      }
      return keyKnown ? { kind: 'api-key', principal: null } : otherwise;
    },
  };
}
