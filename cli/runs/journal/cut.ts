import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { isSettled } from '../../../sdk/typescript/src/worker/steps/entries.ts';
import { Stop } from '../../../sdk/typescript/src/worker/steps/faults.ts';
import { Journal, type SegmentWrite } from '../../../sdk/typescript/src/worker/steps/journal.ts';
import { exitCodes, ToolError } from '../../output.ts';
import { readJournal, stepKeys, undoKey, valueKeys } from './entries.ts';

/** The beginning of a journal, for a run that goes on from it. */
export interface CutJournal {
  /** None where nothing is kept. */
  readonly segments: readonly SegmentWrite[];
  /** Checkpoints of the old run that hold values of kept entries. */
  readonly values: readonly string[];
  /** Operations whose results are kept. */
  readonly kept: readonly string[];
  /** Operations that the old run had begun, and that run again. */
  readonly again: readonly string[];
  /** Kept operations that the old run has undone, or begun to. */
  readonly undone: readonly string[];
}

/**
 * Keeps the results of operations that came first before `from`. Operations without a result begin anew, and so do marks of undoing:
 * the new run has undone nothing.
 */
export function cutJournal(segments: readonly JsonValue[], from: string): CutJournal {
  const journal = readJournal(segments);
  const { head, entries } = journal;
  const known = stepKeys(journal);
  if (head === null)
    throw new ToolError('The run has no journal of steps: without --from it runs whole.', exitCodes.notFound);
  if (!known.includes(from)) throw unknownStep(from, known);
  const before = entries.slice(
    0,
    entries.findIndex(({ k }) => k === from),
  );
  const kept = before.filter((entry) => entry.t !== 'undo' && entry.k !== '@ending' && isSettled(entry));
  const begun = Journal.of([], head);
  try {
    for (const entry of kept) begun.put(entry);
  } catch (error) {
    if (error instanceof Stop) throw new ToolError(error.message, exitCodes.conflict, { cause: error });
    throw error;
  }
  const keys = new Set(kept.map(({ k }) => k));
  const undone = new Set(entries.filter(({ t }) => t === 'undo').map(({ k }) => k));
  return {
    segments: begun.changes(),
    values: valueKeys(kept),
    kept: known.filter((key) => keys.has(key)),
    again: known.filter((key) => !keys.has(key)),
    undone: known.filter((key) => keys.has(key) && undone.has(undoKey(key))),
  };
}

const NAMED_MAX = 50;

function unknownStep(from: string, known: readonly string[]): ToolError {
  const named = known.slice(0, NAMED_MAX).map((key) => JSON.stringify(key));
  const more = known.length > NAMED_MAX ? `, and ${known.length - NAMED_MAX} more` : '';
  const steps = known.length === 0 ? 'It holds none.' : `It holds ${named.join(', ')}${more}.`;
  return new ToolError(
    `The journal of the run has no step ${JSON.stringify(from)}. ${steps}`,
    exitCodes.notFound,
  );
}
