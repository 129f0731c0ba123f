/** The members that the service assigns to a record. It ignores those of a request, except `createdAt`. */
export interface RecordStamp {
  readonly revision: number;
  readonly etag: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export type StoredStamp = Pick<RecordStamp, 'revision' | 'createdAt' | 'updatedAt'>;

/** The etag of a revision. */
export function etagOf(revision: number): string {
  return `rev:${revision}`;
}
