import type { JsonObject, JsonValue } from '../../generated/models.ts';
import { ChangedCode } from './faults.ts';

/** One result in the journal. Members and their order: `sdk/steps/journal.md`. */
export interface Entry {
  readonly k: string;
  readonly t: EntryKind;
  readonly v?: JsonValue;
  readonly ref?: string;
  readonly e?: EntryError;
  readonly n?: number;
  readonly id?: string;
  readonly ms?: number;
  readonly at?: number;
}

export type EntryKind = 'step' | 'sleep' | 'event' | 'child' | 'start' | 'mark' | 'undo';

/** An error as the journal keeps it. */
export type EntryError = { readonly name: string; readonly message: string; readonly code?: string };

const kinds: readonly unknown[] = 'step sleep event child start mark undo'.split(' ');
const members = 'k t v ref e n id ms at'.split(' ');
const types = [
  ['k', 'string'],
  ['ref', 'string'],
  ['id', 'string'],
  ['n', 'number'],
  ['ms', 'number'],
  ['at', 'number'],
] as const;
const results = ['v', 'ref', 'e'] as const;

type SettledEntry = Entry & { readonly v: JsonValue | undefined };

/** Whether the entry holds a result; otherwise its operation goes on. */
export function isSettled(entry: Entry | undefined): entry is SettledEntry {
  return entry !== undefined && results.some((member) => Object.hasOwn(entry, member));
}

/** The entry with its members in their order; members of a later kit come last. */
export function ordered(entry: Entry): Entry {
  const given = entry as unknown as Record<string, JsonValue | undefined>;
  const names = [...members, ...Object.keys(entry).filter((name) => !members.includes(name))];
  const kept = names.filter((name) => Object.hasOwn(given, name) && given[name] !== undefined);
  return Object.fromEntries(kept.map((name) => [name, given[name]])) as unknown as Entry;
}

/** The last moment of a date. */
const MOMENT_MAX = 8.64e15;

/** An entry as it was read. Throws where it is none. */
export function readEntry(given: JsonValue): Entry {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw noEntry();
  const entry = given as JsonObject;
  const isTyped = types.every(([name, type]) => !Object.hasOwn(entry, name) || typeof entry[name] === type);
  const isOne = results.filter((name) => Object.hasOwn(entry, name)).length <= 1;
  const hasError = !Object.hasOwn(entry, 'e') || isError(entry['e']);
  const { n = 1, at = 0, v = null } = entry;
  const isBounded = Number.isSafeInteger(n) && Number(n) >= 1 && Math.abs(Number(at)) <= MOMENT_MAX;
  const isEvent = entry['t'] !== 'event' || v === null || Object.hasOwn(v as object, 'payload');
  if (!(isTyped && isBounded && isEvent && isOne && hasError && 'k' in entry && kinds.includes(entry['t'])))
    throw noEntry();
  return ordered(entry as unknown as Entry);
}

export function isError(given: JsonValue | undefined): given is EntryError {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  const { name, message, code = '' } = given as JsonObject;
  return [name, message, code].every((text) => typeof text === 'string');
}

export function noEntry(): ChangedCode {
  return new ChangedCode('The journal of the run holds an entry that this kit cannot read');
}

const NAME_LENGTH_MAX = 100;
const MESSAGE_LENGTH_MAX = 1_000;

/** The part of an error that the journal keeps. */
export function entryError(error: unknown): EntryError {
  const { name, message, code } = partsOf(error);
  const its = { name: cut(name, NAME_LENGTH_MAX), message: cut(message, MESSAGE_LENGTH_MAX) };
  return typeof code === 'string' ? { ...its, code: cut(code, NAME_LENGTH_MAX) } : its;
}

function partsOf(error: unknown): {
  readonly name: string;
  readonly message: string;
  readonly code: unknown;
} {
  try {
    if (!(error instanceof Error)) return { name: 'Error', message: String(error), code: undefined };
    const { name, message }: { readonly name: unknown; readonly message: unknown } = error;
    return {
      name: String(name),
      message: String(message),
      code: (error as { readonly code?: unknown }).code,
    };
  } catch {
    return { name: 'Error', message: 'The error has no text.', code: undefined };
  }
}

/** A cut inside a surrogate pair leaves a lone surrogate: it goes, and others become U+FFFD. */
function cut(text: string, lengthMax: number): string {
  const short = text.slice(0, lengthMax);
  const isSplit = /[\ud800-\udbff]$/.test(short) && /^[\udc00-\udfff]/.test(text.slice(lengthMax));
  return (isSplit ? short.slice(0, -1) : short).replaceAll(/\p{Cs}/gu, '\ufffd');
}
