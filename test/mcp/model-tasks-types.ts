import type { Json } from '../../functions/kernel/canonical-json.ts';

/** A task in words, with the calls that solve it. */
export interface ModelTask {
  readonly words: string;
  readonly steps: readonly Step[];
}

export interface Step {
  /** By these words the planner finds the tool. */
  readonly words: string;
  readonly tool: string;
  readonly with: Members;
  readonly finds: Findings;
  /** The worker outside finishes the run that the step starts. */
  readonly works?: true;
}

/** The members of a call by their names, which the planner does not see. */
export type Members = Readonly<Record<string, Wish>>;

/** A member of a call: the words that ask for it, and its value. */
export type Wish = { readonly words: string } & (
  | { readonly kind: 'value'; readonly value: Json }
  /** A value of a closed set. The planner finds it by the words alone. */
  | { readonly kind: 'choice'; readonly value: string; readonly isOneOfSeveral: boolean }
  /** A value that the text of an earlier answer of the task states, beside another value. */
  | { readonly kind: 'read'; readonly name: string; readonly beside: string | null }
  | { readonly kind: 'parts'; readonly parts: Members }
  | { readonly kind: 'each'; readonly items: readonly Members[] }
);

/** What an answer has to state, as values and as text. */
export interface Findings {
  /** All values of the members with this name, in order. */
  readonly lists?: Readonly<Record<string, readonly Json[]>>;
  /** A member with this name has the value, or a text that contains it. */
  readonly holds?: readonly (readonly [name: string, value: Json])[];
  /** No member with this name has the value, or a text that contains it. */
  readonly without?: readonly (readonly [name: string, value: Json])[];
  /** The member has the same value as in the answer before. */
  readonly repeats?: readonly string[];
}

export const value = (words: string, given: Json): Wish => ({ kind: 'value', words, value: given });
export const choice = (words: string, given: string): Wish => ({
  kind: 'choice',
  words,
  value: given,
  isOneOfSeveral: false,
});
/** A list of values of a closed set, of which the task needs one. */
export const listed = (words: string, given: string): Wish => ({
  kind: 'choice',
  words,
  value: given,
  isOneOfSeveral: true,
});
export const read = (words: string, name: string, beside: string | null = null): Wish => ({
  kind: 'read',
  words,
  name,
  beside,
});
export const parts = (words: string, given: Members): Wish => ({ kind: 'parts', words, parts: given });
export const each = (words: string, ...items: readonly Members[]): Wish => ({ kind: 'each', words, items });
