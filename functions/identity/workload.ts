import type { CredentialHeaders } from './credentials.ts';

/** The principal that a proof of identity names, and the time of the proof. */
export interface VerifiedIdentity {
  /** The stable name that the access policies use. */
  readonly principal: string;
  /** Time of issue of the credential, in milliseconds of the Unix epoch; `null` if the credential does not hold it. */
  readonly issuedAt: number | null;
}

/**
 * A proof of identity that names a principal, such as an OIDC token. `identify` answers `null` where the request carries no
 * credential of this kind, throws `unauthenticated` for an invalid one, and `unavailable` where the service cannot
 * check it now.
 */
export interface WorkloadIdentity {
  identify(headers: CredentialHeaders, options: WorkloadIdentityOptions): Promise<VerifiedIdentity | null>;
}

interface WorkloadIdentityOptions {
  /**
   * Whether a bearer token in `Authorization` may be the identity. If API keys are in use and the request has no key header, the
   * token counts as a key. A token in `X-Serverless-Authorization` always may be the identity.
   */
  readonly fromAuthorization: boolean;
}
