import { ServiceError } from '../../kernel/errors.ts';

/** A refused identity token. `detail` is a fixed sentence: nothing of the token may get into a log or an answer. */
export function refused(detail: string): ServiceError {
  return new ServiceError('unauthenticated', detail);
}
