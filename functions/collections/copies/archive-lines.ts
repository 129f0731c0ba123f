import type { ArchiveLine } from '../../archives/chunk-writer.ts';
import { type HeadFormat, headLine } from '../../archives/line-reader.ts';
import { LineTally } from '../../archives/line-tally.ts';
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
export const spaceHead: HeadFormat = {
  format: 'svc.records.snapshot',
  title: 'the name of the format of spaces',
  version: 1,
};

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

export function spaceHeadLine(space: string): string {
  return headLine(spaceHead, { space });
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

export class SpaceTally extends LineTally<SpaceEntry> {
  constructor() {
    super(carriedSpaceCollections);
  }

  addEntry(entry: SpaceEntry | null): void {
    if (entry !== null) this.count(entry.collection);
  }
}
