/** What the service assigns to a record. Values of these members in a request are ignored, save `createdAt`. */
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
