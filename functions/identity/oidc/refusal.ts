import { ServiceError } from '../../kernel/errors.ts';

/** The refusal of an identity token. `detail` is a fixed sentence, because no part of the token may reach a log or an answer. */
export function refused(detail: string): ServiceError {
  return new ServiceError('unauthenticated', detail);
}
