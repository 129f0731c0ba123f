import type { Head, RecordData } from '../store/port.ts';

/** The least and the greatest version of the search entries of a collection. 0: a record without an entry. */
export interface EntryRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Members of the head of a collection's policy record about the search entries of its records:
 * - `entriesFrom`, `entriesTo`: the range of their versions. Absent: there are no entries.
 * - `entriesNext`: a sweep gives all of them this version; `entriesRun` names the sweep.
 */
const FROM = 'entriesFrom';
const TO = 'entriesTo';
const NEXT = 'entriesNext';
const RUN = 'entriesRun';

/** Members of heads that follow from the texts of records. Copies leave them out, and a restore computes them again. */
export const entryMembers: readonly string[] = [FROM, TO, NEXT, RUN, 'termsLeftOut'];

export function rangeIn(head: Head): EntryRange {
  return { from: Number(head[FROM] ?? 0), to: Number(head[TO] ?? 0) };
}

export function rangeMembers({ from, to }: EntryRange): Head {
  return { [FROM]: from, [TO]: to };
}

/** The range of entries that all have the version. */
export function onlyVersion(version: number): EntryRange {
  return { from: version, to: version };
}

export function isOnly({ from, to }: EntryRange, version: number): boolean {
  return from === version && to === version;
}

export function isWithin({ from, to }: EntryRange, bounds: EntryRange): boolean {
  return from >= bounds.from && to <= bounds.to;
}

/** The smallest range with these versions and one more. */
export function widened({ from, to }: EntryRange, version: number): EntryRange {
  return { from: Math.min(from, version), to: Math.max(to, version) };
}

/** The head of a collection whose entries lie in the range. No sweep runs. */
export function withRange(head: Head, range: EntryRange): Head {
  const { [NEXT]: _, [RUN]: __, ...others } = head;
  return { ...others, ...rangeMembers(range) };
}

/** Whether a write of an entry has to change the head: its version is outside the range, or a sweep writes another version. */
export function mustWiden(head: Head, version: number): boolean {
  const { [NEXT]: next = version } = head;
  return next !== version || !isWithin(onlyVersion(version), rangeIn(head));
}

/** The policy record of a collection that gets an entry of the version. A running sweep ends without effect. */
export function widenedPolicy({ key, head }: RecordData, version: number): RecordData {
  return { key, head: withRange(head, widened(rangeIn(head), version)) };
}

/** The head of a collection whose entries a sweep gives the version. */
export function withSweep(head: Head, version: number, run: string): Head {
  return { ...head, ...rangeMembers(widened(rangeIn(head), version)), [NEXT]: version, [RUN]: run };
}

/** The sweep that gives the entries of the collection the version. */
export function sweepIn(head: Head, version: number): string | null {
  const run = head[RUN];
  return head[NEXT] === version && typeof run === 'string' ? run : null;
}

/** Whether a release with a newer version has written entries, or sweeps. */
export function isOfNewerRelease(head: Head, version: number): boolean {
  return Math.max(rangeIn(head).to, Number(head[NEXT] ?? 0)) > version;
}

/**
 * Whether a call that read the head before may still add an entry of another version without changing the head. No release
 * writes records without an entry.
 */
export function mayHaveOtherWriters(head: Head, version: number): boolean {
  const { from, to } = rangeIn(head);
  return to > 0 && !isOnly({ from: Math.max(from, 1), to }, version);
}
