import type { RecordAccess } from '../../identity/record-access.ts';
import type { TraceParts } from '../../traces/parts.ts';

/** The parts that the operations of the group work with. The first call that needs the store opens it. */
export interface TracesDependencies {
  /** The layer over the store. */
  readonly traces: TraceParts;
  /** Names the space of each caller. */
  readonly access: RecordAccess;
}
