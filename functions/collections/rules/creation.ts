import type { Head, RecordData } from '../../store/port.ts';

const CREATION = 'creation';

/** The creation that a collection comes from. An import that exchanges the content keeps it, and a deletion ends it. */
export function creationIn(head: Head): string {
  return String(head[CREATION] ?? head['incarnation']);
}

/** The policy record of an exchange: the collection stays the one that was created. */
export function withCreation(pointer: RecordData, before: RecordData | undefined): RecordData {
  if (before === undefined) return pointer;
  return { ...pointer, head: { ...pointer.head, [CREATION]: creationIn(before.head) } };
}
