import type { RecordData, RecordKey } from '../port.ts';
import type { RecordRow } from './rows.ts';

/** What one transaction writes into one space. */
export interface Plan {
  readonly creates: readonly RecordData[];
  readonly updates: readonly { readonly row: RecordRow; readonly record: RecordData }[];
  readonly removes: readonly RecordRow[];
  /** Keys that were found absent and stay so: rivals that would create them have to wait for this transaction. */
  readonly absent: readonly RecordKey[];
  /** Whether it changes what searches read. */
  readonly searched: boolean;
}

export const nothing: Plan = { creates: [], updates: [], removes: [], absent: [], searched: false };
