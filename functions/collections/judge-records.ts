import type { RecordReader } from './candidates.ts';
import type { RecordQuery } from './page-request.ts';
import { judged, type RecordCondition } from './rules/judge.ts';
import type { RecordValue } from './rules/record-key.ts';
import { recordValue, type StoredText } from './rules/stored-text.ts';

type Judging = Pick<RecordReader, 'budget' | 'turns'>;

/** Whether the record meets the partition keys and the filter of the query. */
export async function isAdmitted(
  reader: Judging,
  stored: StoredText,
  { condition, readsVectors }: RecordQuery,
): Promise<boolean> {
  const { partitionKeys, filter } = condition;
  // A listing without a condition parses nothing.
  if (partitionKeys === null && filter === null) return true;
  return isMet(reader, recordValue(stored, { vectors: readsVectors }), condition);
}

/** Other calls run between two conditions: a hundred conditions on one long text would block the process too long. */
export async function isMet(
  { budget, turns }: Judging,
  value: RecordValue,
  condition: RecordCondition,
): Promise<boolean> {
  const steps = judged(value, condition);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    budget.search(step.value);
    if (turns.due()) await turns.next();
  }
}
