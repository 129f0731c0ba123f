import type { Head, RecordData } from '../store/port.ts';
import { ENTRY_VERSION } from './search/entry.ts';

/**
 * What the head of a collection's policy record says of the search entries of its records:
 * - `entries`: all of them have this version. 0: they have several. Absent: no release has prepared them.
 * - `entriesNext`: a sweep makes all of them have this version; `entriesRun` names the sweep.
 */
const VERSION = 'entries';
const NEXT = 'entriesNext';
const RUN = 'entriesRun';

/** Members of heads that follow from the texts of records. Copies leave them out, and a restore makes them anew. */
export const entryMembers: readonly string[] = [VERSION, NEXT, RUN, 'termsLeftOut'];

const SEVERAL = 0;

/** The head of a collection of which all entries have the version. */
export function withEntries(head: Head, version: number = ENTRY_VERSION): Head {
  const { [NEXT]: _, [RUN]: __, ...others } = head;
  return { ...others, [VERSION]: version };
}

/** Whether searches find every record of the collection. */
export function isSearchable(head: Head): boolean {
  return head[VERSION] === ENTRY_VERSION;
}

/** Whether a newer release has prepared the collection, or prepares it: this one leaves it alone. */
export function isOfNewerRelease(head: Head): boolean {
  return [head[VERSION], head[NEXT]].some((version) => Number(version ?? 0) > ENTRY_VERSION);
}

/** Whether the entry of this release would be one of several versions where the head names a single one. */
export function isOfOtherRelease(head: Head): boolean {
  const { [VERSION]: version = SEVERAL, [NEXT]: next = ENTRY_VERSION } = head;
  return (version !== SEVERAL && version !== ENTRY_VERSION) || next !== ENTRY_VERSION;
}

/** The policy record of a collection whose records have entries of several versions from now on. */
export function withSeveralVersions({ key, head }: RecordData): RecordData {
  return { key, head: withEntries(head, SEVERAL) };
}

/** The sweep that makes the entries of the collection have the version of this release. */
export function sweepIn(head: Head): string | null {
  const run = head[RUN];
  return head[NEXT] === ENTRY_VERSION && typeof run === 'string' ? run : null;
}

/** The head of a collection that a sweep begins to prepare. */
export function withSweep(head: Head, run: string): Head {
  const isKnown = head[VERSION] !== undefined;
  return { ...head, ...(isKnown ? { [VERSION]: SEVERAL } : {}), [NEXT]: ENTRY_VERSION, [RUN]: run };
}

/** Whether a process of another release may write to the collection now: its head names another version, or several. */
export function mayHaveOtherWriters(head: Head): boolean {
  return head[VERSION] !== undefined;
}
