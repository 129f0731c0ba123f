import type { World } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';
import { CursorMemory } from './cursor-memory.ts';
import { EntryVersions } from './entry-versions.ts';
import { IncarnationCache } from './incarnation-cache.ts';
import { ReadLanes } from './read-lanes.ts';
import { type EntryFormats, entryFormats } from './search/formats.ts';

/** What the functions over collections and records depend on. The store is opened by the first call that needs it. */
export interface RecordParts {
  readonly store: () => Promise<RecordStore>;
  readonly world: World;
  readonly limits: RecordLimits;
  readonly incarnations: IncarnationCache;
  readonly cursors: CursorMemory;
  readonly lanes: ReadLanes;
  readonly entries: EntryVersions;
}

/** @testonly */
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

/** The parts with the caches of a process. */
export function createRecordParts({
  store,
  world,
  limits,
  lanes = new ReadLanes({ timers: world.timers }),
  formats = entryFormats,
  entryVersion = null,
}: Pick<RecordParts, 'store' | 'world' | 'limits'> & {
  /** Without them long reads have places of their own. */
  readonly lanes?: ReadLanes;
  /** Those of this release where absent. */
  readonly formats?: EntryFormats;
  /** The version of search entries that an operator has chosen. */
  readonly entryVersion?: number | null;
}): RecordParts {
  const entries = new EntryVersions(store, world.clock, formats, entryVersion);
  const [incarnations, cursors] = [new IncarnationCache(), new CursorMemory()];
  return { store, world, limits, entries, incarnations, cursors, lanes };
}
