import type { Head, RecordData } from '../../store/port.ts';

const CREATION = 'creation';

/** The creation of a collection. An import that replaces the content keeps it; a deletion ends it. */
export function creationIn(head: Head): string {
  return String(head[CREATION] ?? head['incarnation']);
}

/** The policy record after a replacement of the content: it keeps the creation. */
export function withCreation(pointer: RecordData, before: RecordData | undefined): RecordData {
  if (before === undefined) return pointer;
  return { ...pointer, head: { ...pointer.head, [CREATION]: creationIn(before.head) } };
}
