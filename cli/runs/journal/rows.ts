import type { JsonValue } from '../../../sdk/typescript/src/generated/models.ts';
import { type Entry, isSettled } from '../../../sdk/typescript/src/worker/steps/entries.ts';
import { type ReadJournal, undoKey } from './entries.ts';

/** An operation of a journal, for people. A member without a meaning for its kind is null. */
export interface JournalRow {
  readonly key: string;
  readonly kind: string;
  readonly state: string;
  readonly duration: string | null;
  readonly tries: number | null;
  readonly undo: string | null;
  readonly at: string | null;
  readonly value: string | null;
}

/** A row for each operation and mark, in the order in which they were first met. */
export function journalRows({ entries }: ReadJournal): readonly JournalRow[] {
  const undos = new Map(entries.filter(({ t }) => t === 'undo').map((entry) => [entry.k, entry] as const));
  return entries.filter(({ k, t }) => t !== 'undo' && k !== '@ending').map((entry) => rowOf(entry, undos));
}

/** The error with which the run ends, and for which it undoes its steps; null without one. */
export function endingIn({ entries }: ReadJournal): string | null {
  const value = entries.find(({ k }) => k === '@ending')?.v;
  if (value === undefined) return null;
  // A worker that is not a kit may have written another value.
  const { name, message } = (value ?? {}) as { readonly name?: unknown; readonly message?: unknown };
  return `${String(name)}: ${String(message)}`;
}

function rowOf(entry: Entry, undos: ReadonlyMap<string, Entry>): JournalRow {
  const { k: key, t: kind, n, ms, at } = entry;
  const undo = undos.get(undoKey(key));
  return {
    key,
    kind,
    state: stateOf(entry),
    duration: ms === undefined ? null : durationText(ms),
    tries: kind === 'step' ? (n ?? 1) : null,
    undo: undo === undefined ? null : undoState(undo),
    at: at === undefined ? null : new Date(at).toISOString(),
    value: valueOf(entry),
  };
}

function stateOf(entry: Entry): string {
  if (entry.e !== undefined) return 'failed';
  const { t: kind, v } = entry;
  if (!isSettled(entry)) return kind === 'step' ? 'waits for a retry' : kind === 'child' ? 'runs' : 'waits';
  return kind === 'event' && v === null ? 'timed out' : 'done';
}

function undoState(undo: Entry): string {
  if (undo.e !== undefined) return 'failed';
  return isSettled(undo) ? 'done' : 'waits for a retry';
}

function valueOf({ t: kind, v, ref, e, id }: Entry): string | null {
  if (e !== undefined) return `${e.name}: ${e.message}`;
  if (ref !== undefined) return `in ${ref}`;
  if (v === undefined) return id ?? null;
  const value =
    kind === 'event' && v !== null ? ((v as { readonly payload?: JsonValue }).payload ?? null) : v;
  return value === null ? null : JSON.stringify(value);
}

/** In the largest unit that leaves a figure above 1: `340 ms`, `2.1 s`, `3.5 min`, `1.2 h`. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const [size, unit] = ms < 60_000 ? [1_000, 's'] : ms < 3_600_000 ? [60_000, 'min'] : [3_600_000, 'h'];
  return `${(ms / size).toFixed(1)} ${unit}`;
}
