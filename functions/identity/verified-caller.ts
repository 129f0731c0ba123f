import { ServiceError } from '../kernel/errors.ts';
import type { VerifiedCaller } from './authorizer.ts';
import type { Caller } from './caller.ts';

/** Returns the caller if its principal was verified, and throws `unauthenticated` otherwise. */
export function verifiedCaller(caller: Caller): VerifiedCaller {
  const { principal } = caller;
  if (principal === null) throw new ServiceError('unauthenticated', 'The caller is not known');
  return { ...caller, principal };
}
