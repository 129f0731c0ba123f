import { createHash } from 'node:crypto';
import type { ArchiveLine, ArchiveTally } from '../../archives/chunk-writer.ts';
import { canonicalJson } from '../../kernel/canonical-json.ts';
import { carriedBy } from '../../store/ownership.ts';
import type { Head, Listing, RecordData } from '../../store/port.ts';
import { uncounted } from '../../store/stored-size.ts';
import { entryMembers } from '../entry-range.ts';
import { spaceCollections } from '../store-collections.ts';

/**
 * A space as lines of canonical JSON: a head line, then every record in the order of its key. The lines hold stored
 * records, because a release reads the stored records of every earlier one.
 */
export const SPACE_FORMAT = 'svc.records.snapshot';
export const SPACE_VERSION = 1;

/** The collections of a space that a copy carries, by their declarations. */
export const carriedSpaceCollections: readonly string[] = carriedBy('space', spaceCollections).map(
  ({ name }) => name,
);

/** A record as a line shows it. */
export interface SpaceEntry {
  readonly collection: string;
  readonly id: string;
  readonly head: Head;
  readonly body: string | null;
  readonly listing: Listing | null;
}

/** How many records of each kind. */
export type SpaceCounts = Readonly<Record<string, number>>;

export function headLine(space: string): string {
  return `${canonicalJson({ format: SPACE_FORMAT, space, version: SPACE_VERSION })}\n`;
}

export function entryLine(record: RecordData): ArchiveLine<SpaceEntry> {
  const { key, head, body = null, listing = null } = record;
  const own = Object.entries(uncounted(head)).filter(([name]) => !entryMembers.includes(name));
  const entry = { collection: key.collection, id: key.id, head: Object.fromEntries(own), body, listing };
  return { line: `${canonicalJson(entry)}\n`, entry };
}

export function recordOfEntry({ collection, id, head, body, listing }: SpaceEntry): RecordData {
  return { key: { collection, id }, head, body, listing };
}

export class SpaceTally implements ArchiveTally<SpaceEntry> {
  readonly #hash = createHash('sha256');
  readonly #counts = new Map(carriedSpaceCollections.map((name) => [name, 0]));

  addText(lines: Uint8Array): void {
    this.#hash.update(lines);
  }

  addEntry(entry: SpaceEntry | null): void {
    if (entry !== null) this.#counts.set(entry.collection, (this.#counts.get(entry.collection) ?? 0) + 1);
  }

  get counts(): SpaceCounts {
    return Object.fromEntries(this.#counts);
  }

  /** Of all lines so far; the tally continues. */
  contentHash(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`;
  }
}
