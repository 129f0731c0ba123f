import { AmbiguousName } from './faults.ts';

/** Names of operations, and the keys under which the journal keeps their results. Rules: `sdk/steps/journal.md`. */

/** A text, or its parts: `['mail', userId]` is `mail/<userId>`. */
export type StepName = string | readonly (string | number)[];

/** In UTF-16 units. The server takes 160, and the kit puts its own words before a key. */
const KEY_LENGTH_MAX = 128;

/** Refuses a name. */
export class StepNameError extends TypeError {
  override readonly name = 'StepNameError';
}

const refusals = [
  [/^\s*$/, 'is blank'],
  [/^\s|\s$/, 'has white space at an end'],
  [/[\p{Cc}\p{Cs}]/u, 'holds a control character or a lone surrogate'],
  [/^@/, 'begins with @, as names of the kit do'],
  [/#\d+$/, 'ends as the second call of a name does'],
] as const;

/** The name as text. */
export function nameOf(given: StepName): string {
  const name = typeof given === 'string' ? given : joined(given);
  if (typeof name !== 'string') throw refused(name, 'is blank');
  for (const [rule, why] of refusals) if (rule.test(name)) throw refused(name, why);
  return name;
}

function joined(parts: readonly (string | number)[]): string {
  if (!Array.isArray(parts) || parts.length === 0) throw refused(parts, 'has no part');
  return parts.map(partOf).join('/');
}

function partOf(part: string | number): string {
  if (typeof part === 'number') {
    if (!Number.isSafeInteger(part)) throw refused(part, 'has a number that is no safe integer');
    return String(part);
  }
  if (typeof part !== 'string' || part.trim() === '') throw refused(part, 'has a blank part');
  return part.replaceAll('~', '~0').replaceAll('/', '~1');
}

function refused(name: unknown, why: string): StepNameError {
  return new StepNameError(`The name ${JSON.stringify(name) ?? 'undefined'} of a step ${why}.`);
}

/** The place of a call among the parallel branches. */
export interface Caller {
  /** Its branches, outermost first; empty outside of branches. */
  readonly chain: readonly CallerBranch[];
  /** The operations of the innermost branch. */
  readonly open: OpenOperations;
}

interface CallerBranch {
  /** The branches of one `all`, `map` or `race` have one group. */
  readonly group: object;
  readonly index: number;
  /** Whether the branch has not yet given way: prompt calls of branches have one order. */
  readonly isPrompt: boolean;
}

/** The operations of a branch that are open. */
export class OpenOperations {
  #count = 0;
  #isScrambled = false;

  /** Whether an operation has ended while another one was open: which one ends first decides the order of later calls. */
  get isScrambled(): boolean {
    return this.#isScrambled;
  }

  begun(): void {
    this.#count += 1;
  }

  ended(): void {
    this.#count -= 1;
    this.#isScrambled = this.#count > 0;
  }
}

interface Calls {
  count: number;
  /** Callers that had given way before their call. */
  readonly late: Caller[];
  /** Branches with a call that had no order. */
  readonly unordered: Set<OpenOperations>;
}

/** Counts the calls of each name. */
export class Occurrences {
  readonly #calls = new Map<string, Calls>();

  /** The key of the next call of a name; a checked name, or one of the kit. */
  next(name: string, caller: Caller): string {
    const calls = this.#calls.get(name) ?? { count: 0, late: [], unordered: new Set() };
    this.#calls.set(name, calls);
    calls.count += 1;
    if (calls.unordered.has(caller.open) || calls.late.some((other) => isUnordered(other, caller)))
      throw ambiguous(name);
    if (caller.open.isScrambled) calls.unordered.add(caller.open);
    if (caller.chain.some(({ isPrompt }) => !isPrompt)) calls.late.push(caller);
    const key = calls.count === 1 ? name : `${name}#${calls.count}`;
    if (key.length > KEY_LENGTH_MAX)
      throw new StepNameError(`The name ${key} of a step is longer than ${KEY_LENGTH_MAX} characters.`);
    return key;
  }
}

/** Whether two calls come from branches side by side, and both after their branch gave way. */
function isUnordered({ chain: one }: Caller, { chain: other }: Caller): boolean {
  for (const [depth, mine] of one.entries()) {
    const its = other[depth];
    if (its === undefined || its.group !== mine.group) return false;
    if (its.index === mine.index) continue;
    return isLate(one, depth) && isLate(other, depth);
  }
  return false;
}

function isLate(chain: Caller['chain'], depth: number): boolean {
  return chain.slice(depth).some(({ isPrompt }) => !isPrompt);
}

function ambiguous(name: string): AmbiguousName {
  return new AmbiguousName(
    `"${name}" is called more than once by parallel branches. Name each call by parts: ["${name}", id].`,
  );
}
