import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { type Entry, readEntry } from '../../../sdk/typescript/src/worker/steps/entries.ts';
import { ChangedCode } from '../../../sdk/typescript/src/worker/steps/faults.ts';
import { type Head, Journal } from '../../../sdk/typescript/src/worker/steps/journal.ts';
import { ToolError } from '../../output.ts';

/** A journal as it was read: the valid entry of each key, in the order of the first entries. Format: `sdk/steps/journal.md`. */
export interface ReadJournal {
  /** `null` without a journal. */
  readonly head: Head | null;
  readonly entries: readonly Entry[];
}

export function readJournal(segments: readonly JsonValue[]): ReadJournal {
  if (segments.length === 0) return { head: null, entries: [] };
  try {
    const { head } = Journal.of(segments, { handler: '', version: '' });
    const entries = new Map<string, Entry>();
    for (const entry of (segments as readonly (readonly JsonValue[])[]).flat().map(readEntry))
      entries.set(entry.k, entry);
    entries.delete('@');
    return { head, entries: [...entries.values()] };
  } catch (error) {
    if (error instanceof ChangedCode)
      throw new ToolError(`${error.message}: --json prints it as it is.`, undefined, { cause: error });
    throw error;
  }
}

/** The keys of the operations that a handler names. */
export function stepKeys({ entries }: ReadJournal): readonly string[] {
  return entries.map(({ k }) => k).filter((key) => !key.startsWith('@'));
}

/** The checkpoints that hold values of these entries. */
export function valueKeys(entries: readonly Entry[]): readonly string[] {
  return entries.flatMap(({ ref }) => (ref === undefined ? [] : [ref]));
}

export const undoKey = (key: string): string => `@undo:${key}`;
