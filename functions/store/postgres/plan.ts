import type { RecordData, RecordKey } from '../port.ts';
import type { RecordRow } from './rows.ts';

/** The writes of one transaction into one space. */
export interface Plan {
  readonly creates: readonly RecordData[];
  readonly updates: readonly { readonly row: RecordRow; readonly record: RecordData }[];
  readonly removes: readonly RecordRow[];
  /** Keys that must stay absent: a rival that creates one waits for this transaction. */
  readonly absent: readonly RecordKey[];
  /** Whether it changes search tables. */
  readonly searched: boolean;
}

export const nothing: Plan = { creates: [], updates: [], removes: [], absent: [], searched: false };
