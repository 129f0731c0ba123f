import type { JsonObject, JsonValue } from '../../generated/models.ts';
import { type Entry, type EntryKind, ordered, readEntry } from './entries.ts';
import { ChangedCode, ChangedKind, Stop } from './faults.ts';
import { bytesOf } from './values.ts';

/** The journal of a run, without I/O. Format: `sdk/steps/journal.md`. */

const FORMAT = 1;
export const INLINE_BYTES_MAX = 16_000;
const SEGMENT_BYTES_MAX = 60_000;
/** A segment up to this size is the last one: the next entry would have had room. */
const LAST_BYTES_MAX = 40_000;
const ENTRIES_MAX = 10_000;
const SEGMENTS_MAX = 16;
/** Undoing must be possible where a run has filled its journal. */
const SPARE_SEGMENTS = 4;

/** The first entry of a journal. */
export interface Head {
  readonly handler: string;
  readonly version: string;
}

/** A segment as it is to be written. */
export interface SegmentWrite {
  readonly key: string;
  readonly content: readonly Entry[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly number: number;
  readonly version: number;
}

interface Segment {
  readonly entries: Entry[];
  /** Of the text of the segment. */
  bytes: number;
  /** Counts the changes. */
  version: number;
  writtenVersion: number;
}

export const segmentKey = (number: number): string => `svc.steps.${number}`;
export const valueKey = (key: string): string => `svc.step.${key}`;

/** Whether a segment may follow one with this content, so that it must be asked for. */
export function mayContinue(content: JsonValue, number: number): boolean {
  return number + 1 < SEGMENTS_MAX + SPARE_SEGMENTS && bytesOf(JSON.stringify(content)) > LAST_BYTES_MAX;
}

export class Journal {
  readonly head: Head;
  /** Whether no earlier execution has written anything. */
  readonly isFresh: boolean;
  readonly #entries = new Map<string, Entry>();
  readonly #segments: Segment[];

  private constructor(head: Head, segments: readonly (readonly Entry[])[]) {
    this.head = head;
    this.isFresh = segments.length === 0;
    this.#segments = segments.map((entries) => ({
      entries: [...entries],
      bytes: entries.reduce((sum, entry) => sum + sizeOf(entry), 1),
      version: 0,
      writtenVersion: 0,
    }));
    for (const entry of segments.flat()) this.#entries.set(entry.k, entry);
    if (this.isFresh) this.#begin({ k: '@', t: 'mark', v: { format: FORMAT, ...head } });
  }

  /** The journal of these segments. Throws `ChangedCode` where this kit cannot read it. */
  static of(segments: readonly JsonValue[], head: Head): Journal {
    const read = segments.map((content) => {
      if (!Array.isArray(content)) throw new ChangedCode('A segment of the journal of the run is no list');
      return (content as readonly JsonValue[]).map(readEntry);
    });
    return new Journal(read.length === 0 ? head : headOf(read[0]?.[0]), read);
  }

  /** The entry of an operation. Throws where its kind is another one. */
  find(key: string, kind: EntryKind | 'commit'): Entry | undefined {
    const found = this.#entries.get(key);
    if (found !== undefined && found.t !== kind) throw new ChangedKind(key, found.t, kind);
    return found;
  }

  /** All keys, in the order of their first entries. */
  allKeys(): string[] {
    return [...this.#entries.keys()];
  }

  /** The valid entries of all keys. */
  all(): Entry[] {
    return [...this.#entries.values()];
  }

  /** Keeps an entry. It is one of the `changes` until it is `written`. */
  put(given: Entry): void {
    const entry = ordered(given);
    const isSpare = entry.t === 'undo' || entry.k === '@ending';
    if (!this.#entries.has(entry.k) && this.#entries.size >= ENTRIES_MAX && !isSpare) throw full();
    const last = this.#segments.at(-1) as Segment;
    const at = last.entries.findIndex(({ k }) => k === entry.k);
    const old = at === -1 ? undefined : last.entries[at];
    const bytes = last.bytes + sizeOf(entry) - (old === undefined ? 0 : sizeOf(old));
    // The second rule holds for a large event only. Without it a reader would take the segment for the last one.
    if (bytes <= SEGMENT_BYTES_MAX || last.bytes <= LAST_BYTES_MAX) {
      last.entries.splice(at === -1 ? last.entries.length : at, at === -1 ? 0 : 1, entry);
      last.bytes = bytes;
      last.version += 1;
      this.#entries.set(entry.k, entry);
    } else {
      const segmentsMax = isSpare ? SEGMENTS_MAX + SPARE_SEGMENTS : SEGMENTS_MAX;
      if (this.#segments.length >= segmentsMax) throw full();
      this.#begin(entry);
    }
  }

  /** The segments with entries that are not written, in their order. */
  changes(): SegmentWrite[] {
    return this.#segments.flatMap(({ entries, version, writtenVersion }, number) => {
      if (version === writtenVersion) return [];
      const metadata = { steps: String(entries.length) };
      return [{ key: segmentKey(number), content: [...entries], metadata, number, version }];
    });
  }

  /** Notes that the service has a segment. */
  written({ number, version }: SegmentWrite): void {
    const segment = this.#segments[number];
    if (segment !== undefined) segment.writtenVersion = version;
  }

  #begin(entry: Entry): void {
    // The head alone is no reason to write.
    const version = entry.k === '@' ? 0 : 1;
    this.#segments.push({ entries: [entry], bytes: 1 + sizeOf(entry), version, writtenVersion: 0 });
    this.#entries.set(entry.k, entry);
  }
}

/** With the comma or the bracket that follows. */
function sizeOf(entry: Entry): number {
  return bytesOf(JSON.stringify(entry)) + 1;
}

function headOf(first: Entry | undefined): Head {
  const value = first?.k === '@' && first.t === 'mark' ? first.v : undefined;
  const { format, handler, version } = (value ?? {}) as JsonObject;
  if (format !== FORMAT)
    throw new ChangedCode(
      `The journal of the run has the format ${JSON.stringify(format)}; this kit reads ${FORMAT}`,
    );
  if (typeof handler !== 'string' || typeof version !== 'string')
    throw new ChangedCode('The journal of the run has a head that this kit cannot read');
  return { handler, version };
}

function full(): Stop {
  return new Stop(
    `The journal of the run is full: ${ENTRIES_MAX} entries, or ${SEGMENTS_MAX} segments. Split the work into child runs.`,
  );
}
