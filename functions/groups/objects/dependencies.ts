import type { RecordAccess } from '../../identity/record-access.ts';
import type { PageTokens } from '../../kernel/page-token.ts';
import type { ObjectParts } from '../../objects/parts.ts';

/** The parts that the operations of the group work with. */
export interface ObjectsDependencies {
  /** The layer over the store and the place of large bytes. */
  readonly objects: ObjectParts;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
  readonly pageTokens: PageTokens;
}
