import type { RecordValue } from '../../collections/rules/record-key.ts';

/** A record that a retrieval found. */
export interface ContextMatch {
  readonly rank: number;
  readonly score: number;
  readonly collection: string;
  readonly record: RecordValue;
}
