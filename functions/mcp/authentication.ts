import type { AuthenticatedOperation, Authenticator } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import type { CredentialHeaders } from '../identity/credentials.ts';
import { ServiceError } from '../kernel/errors.ts';
import type { McpCaller } from './caller.ts';

/**
 * Authenticates requests to the endpoint like requests to the operations behind it. A credential that no operation accepts is
 * refused, and each operation sees the same caller as over REST. Values in a body or in `_meta` are no credentials.
 * `hasMetadata`: public metadata names the issuers of tokens, which no service with API keys has. So the words tell a stranger nothing.
 */
export function createMcpAuthentication(
  authenticator: Authenticator,
  operations: readonly AuthenticatedOperation[],
  hasMetadata = false,
): (headers: CredentialHeaders) => Promise<McpCaller> {
  const probes = probesOf(operations);
  return async (headers) => {
    const known = new Map<string, Promise<Proof>>();
    const prove = (operation: AuthenticatedOperation): Promise<Proof> => {
      const name = `${operation.authorizationClass}/${operation.group ?? ''}`;
      const proof = known.get(name) ?? proofOf(authenticator, headers, operation);
      known.set(name, proof);
      return proof;
    };
    const to = async (operation: AuthenticatedOperation): Promise<Caller | null> => {
      const proof = await prove(operation);
      return proof instanceof ServiceError ? null : proof;
    };
    let refusal: ServiceError | null = null;
    for (const operation of probes) {
      const proof = await prove(operation);
      if (proof instanceof ServiceError) refusal ??= proof;
      else if (proof.kind !== 'anonymous') return { ...proof, to };
    }
    throw (
      refusal ??
      new ServiceError('unauthenticated', hasMetadata ? TOKEN_WORDS : 'The endpoint needs a credential.')
    );
  };
}

const TOKEN_WORDS = 'The endpoint needs a token in Authorization, and takes no API keys.';

/** The caller, or the refusal of its credential. */
type Proof = Caller | ServiceError;

async function proofOf(
  authenticator: Authenticator,
  headers: CredentialHeaders,
  operation: AuthenticatedOperation,
): Promise<Proof> {
  try {
    return await authenticator.authenticate(headers, operation);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unauthenticated') return error;
    throw error;
  }
}

/** One operation of each authorization class that needs a credential. */
function probesOf(operations: readonly AuthenticatedOperation[]): readonly AuthenticatedOperation[] {
  const probes = new Map<string, AuthenticatedOperation>();
  for (const operation of operations) {
    const { authorizationClass } = operation;
    if (authorizationClass !== 'anonymous' && !probes.has(authorizationClass))
      probes.set(authorizationClass, operation);
  }
  return [...probes.values()];
}
