import type { World } from '../kernel/world.ts';
import type { RecordStore } from '../store/port.ts';
import { CursorMemory } from './cursor-memory.ts';
import { EntryVersions } from './entry-versions.ts';
import { IncarnationCache } from './incarnation-cache.ts';
import { ReadLanes } from './read-lanes.ts';
import { type EntryFormats, entryFormats } from './search/formats.ts';

/** The dependencies of the functions over collections and records. The first call that needs the store opens it. */
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
  /** The most candidates that a lexical search scores; 5,000 if absent. */
  readonly lexicalCandidatesMax?: number;
  /** The most records of a page that a call reads, if the store does not bound pages by bytes. */
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
  /** The places for long reads; if absent, these parts have their own. */
  readonly lanes?: ReadLanes;
  /** The formats of search entries; those of this release if absent. */
  readonly formats?: EntryFormats;
  /** The version of search entries that an operator has chosen. */
  readonly entryVersion?: number | null;
}): RecordParts {
  const entries = new EntryVersions(store, world.clock, formats, entryVersion);
  const [incarnations, cursors] = [new IncarnationCache(), new CursorMemory()];
  return { store, world, limits, entries, incarnations, cursors, lanes };
}
