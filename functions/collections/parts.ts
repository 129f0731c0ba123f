import type { World } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';
import { CursorMemory } from './cursor-memory.ts';
import { IncarnationCache } from './incarnation-cache.ts';
import { ReadLanes } from './read-lanes.ts';

/** What the functions over collections and records depend on. The store is opened by the first call that needs it. */
export interface RecordParts {
  readonly store: () => Promise<RecordStore>;
  readonly world: World;
  readonly limits: RecordLimits;
  readonly incarnations: IncarnationCache;
  readonly cursors: CursorMemory;
  readonly lanes: ReadLanes;
}

export interface RecordLimits {
  /** Records that one call may read; a call that needs more is refused. */
  readonly readsPerCallMax: number;
  /** Records of one answer of a query. */
  readonly pageRecordsMax: number;
  /** Bytes of the records of one answer. */
  readonly answerBytesMax: number;
  /** Candidates that a lexical search scores at most; 5,000 where absent. */
  readonly lexicalCandidatesMax?: number;
  /** Records of one page that a call reads, where the store ends no page by its bytes. */
  readonly readPageMax?: number;
}

/** The parts with the caches of a process; with places of their own for long reads, where none are given. */
export function createRecordParts({
  lanes,
  ...own
}: Pick<RecordParts, 'store' | 'world' | 'limits'> & { readonly lanes?: ReadLanes }): RecordParts {
  return {
    ...own,
    incarnations: new IncarnationCache(),
    cursors: new CursorMemory(),
    lanes: lanes ?? new ReadLanes({ timers: own.world.timers }),
  };
}
