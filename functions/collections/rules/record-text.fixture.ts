import { finished } from '../../kernel/turns.ts';
import type { CollectionPolicy } from './policy.ts';
import { type RecordInput, readRecordInSteps } from './record-text.ts';

/** Reads the JSON text of a record at once. */
export function readRecord(given: string, policy: CollectionPolicy, pointer = ''): RecordInput {
  return finished(readRecordInSteps(given, policy, pointer));
}
