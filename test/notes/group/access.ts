import { permissionDenied } from '../../../functions/identity/grants.ts';
import type { JobCaller } from '../../../functions/runs/run-job.ts';

export type NotesRight = 'note_read' | 'note_write';

/** The rights of a principal on the notes of a space. */
export interface NotesGrant {
  readonly principal: string;
  readonly space: string;
  readonly rights: readonly NotesRight[];
}

/** The space of unverified callers in the open development mode. */
export const OPEN_SPACE = 'default';

export class NotesAccess {
  readonly #grants: readonly NotesGrant[];

  /** Without grants every caller may do everything in one space. */
  constructor(grants: readonly NotesGrant[]) {
    this.#grants = grants;
  }

  /** The space in which the caller has the right. Throws `permission_denied` if there is none. */
  spaceOf(caller: JobCaller, right: NotesRight): string {
    if (this.#grants.length === 0) return OPEN_SPACE;
    const grant = this.#grants.find(({ principal, rights }) => {
      return principal === caller.principal && rights.includes(right);
    });
    if (grant === undefined) throw permissionDenied();
    return grant.space;
  }

  /** For a job, which names its space. */
  require(caller: JobCaller, space: string, right: NotesRight): void {
    if (this.spaceOf(caller, right) !== space) throw permissionDenied();
  }
}
