import { ServiceError } from '../kernel/errors.ts';
import type { VerifiedCaller } from './authorizer.ts';
import type { Caller } from './caller.ts';

/** The caller, where its principal was verified. Throws `unauthenticated`. */
export function verifiedCaller(caller: Caller): VerifiedCaller {
  const { principal } = caller;
  if (principal === null) throw new ServiceError('unauthenticated', 'The caller is not known');
  return { ...caller, principal };
}
