/**
 * - `not_empty`: the store holds runs or records that a restore would have to replace.
 * - `active_runs`: runs are active that a removal would have to cancel.
 * - `key_taken`: a run that started since the archive was made has the idempotency key of an archived run.
 * - `changed`: new runs started while the restore replaced the others.
 */
export type CopyConflict = 'not_empty' | 'active_runs' | 'key_taken' | 'changed';

/** The content of the store forbids a copy or a removal. */
export class CopyRefusal extends Error {
  readonly conflict: CopyConflict;

  constructor(conflict: CopyConflict, message: string) {
    super(message);
    this.name = 'CopyRefusal';
    this.conflict = conflict;
  }
}
