import type { Json } from '../../kernel/canonical-json.ts';
import { valueAtPointer } from '../../kernel/json-pointer.ts';
import type { ContextMatch } from './context-match.ts';
import type { AssemblyRequest, GroupRequest } from './context-request.ts';
import { compareKeys, compareUnits } from './order.ts';

/** The groups of records without the grouping value, and of records whose value is null. */
const MISSING = '(missing)';
const NULL = '(null)';

/** The group of a match; `null` if the request has no groups. */
export function groupKeyOf(
  match: ContextMatch,
  { groupBy = null, groupByPath = null }: AssemblyRequest,
): string | null {
  switch (groupBy) {
    case null:
      return null;
    case 'collection':
      return match.collection;
    case 'sourceKind':
      return keyOf(valueAtPointer(match.record, '/sources/0/kind'));
    case 'metadata':
      return keyOf(valueAtPointer(match.record, `/metadata/${escaped(groupByPath ?? '')}`));
    default:
      return keyOf(valueAtPointer(match.record, groupByPath ?? ''));
  }
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function keyOf(value: Json | undefined): string {
  if (value === undefined) return MISSING;
  if (value === null) return NULL;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The budgets of a group, and its current use. */
export class ContextGroup {
  readonly key: string;
  /** Lower priorities come first; groups that the request does not name come last. */
  readonly priority: number;
  readonly isRequired: boolean;
  readonly minChunks: number;
  readonly minChars: number;
  readonly #maxChunks: number;
  readonly #maxChars: number;
  chunks = 0;
  chars = 0;
  skipped = 0;

  constructor(key: string, given: GroupRequest | null, assembly: AssemblyRequest) {
    this.key = key;
    this.priority = given === null ? Infinity : (given.priority ?? Number.MAX_SAFE_INTEGER);
    this.isRequired = given?.required ?? false;
    this.minChars = given?.minChars ?? 0;
    this.minChunks = given?.minChunks ?? (this.isRequired ? 1 : 0);
    this.#maxChunks = given?.maxChunks ?? assembly.defaultMaxChunksPerGroup ?? Infinity;
    this.#maxChars = given?.maxChars ?? assembly.defaultMaxCharsPerGroup ?? Infinity;
  }

  /** UTF-16 units that the group may still take; 0 if it has all its chunks. */
  room(): number {
    return this.chunks >= this.#maxChunks ? 0 : this.#maxChars - this.chars;
  }

  take(chars: number): void {
    this.chunks += 1;
    this.chars += chars;
  }

  isSatisfied(): boolean {
    return this.chunks >= this.minChunks && this.chars >= this.minChars;
  }
}

/** The groups of the request and those of the matches. */
export function groupsOf(
  keys: readonly (string | null)[],
  assembly: AssemblyRequest,
): ReadonlyMap<string, ContextGroup> {
  const groups = new Map<string, ContextGroup>();
  for (const given of assembly.groups ?? [])
    groups.set(given.key, new ContextGroup(given.key, given, assembly));
  for (const key of keys)
    if (key !== null && !groups.has(key)) groups.set(key, new ContextGroup(key, null, assembly));
  return groups;
}

interface Pickable {
  readonly match: ContextMatch;
  readonly text: string;
  readonly group: string | null;
}

/**
 * The order in which matches get room: first the minimum of each group, by priority; then all others by priority, rank, collection
 * and key. Without groups it is the order of the ranks.
 */
export function pickOrder<Item extends Pickable>(
  items: readonly Item[],
  groups: ReadonlyMap<string, ContextGroup>,
  maxCharsPerChunk: number,
): readonly Item[] {
  const priorityOf = ({ group }: Item) => (group === null ? 0 : (groups.get(group)?.priority ?? Infinity));
  const sorted = [...items].sort(
    (a, b) => compareNumbers(priorityOf(a), priorityOf(b)) || compareMatches(a.match, b.match),
  );
  const needed = new Map(
    [...groups.values()].map(({ key, minChunks, minChars }) => [key, { minChunks, minChars }]),
  );
  const first = sorted.filter(({ group, text }) => {
    const left = group === null ? undefined : needed.get(group);
    if (left === undefined || (left.minChunks <= 0 && left.minChars <= 0)) return false;
    left.minChunks -= 1;
    left.minChars -= Math.min(text.length, maxCharsPerChunk);
    return true;
  });
  const taken = new Set(first);
  return [...first, ...sorted.filter((item) => !taken.has(item))];
}

/** Compares two numbers, also infinite ones. */
function compareNumbers(a: number, b: number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function compareMatches(a: ContextMatch, b: ContextMatch): number {
  return a.rank - b.rank || compareUnits(a.collection, b.collection) || compareKeys(a.record, b.record);
}
