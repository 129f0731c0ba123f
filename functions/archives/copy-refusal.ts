/**
 * - `not_empty`: the store holds runs or records that a restore would have to replace.
 * - `active_runs`: runs are active that a removal would have to cancel.
 * - `key_taken`: a new run has used the idempotency key of an archived one meanwhile.
 * - `changed`: new runs were started while the others were replaced.
 */
export type CopyConflict = 'not_empty' | 'active_runs' | 'key_taken' | 'changed';

/** A copy or removal that is refused because of what the store holds. */
export class CopyRefusal extends Error {
  readonly conflict: CopyConflict;

  constructor(conflict: CopyConflict, message: string) {
    super(message);
    this.name = 'CopyRefusal';
    this.conflict = conflict;
  }
}
