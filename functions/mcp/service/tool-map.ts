import type { Json } from '../../kernel/canonical-json.ts';
import type { Followers } from './followers.ts';

/**
 * How the arguments of a tool become a request, and an answer a result. The generator writes it from the entry of the
 * operation (decision 0041).
 */
export interface ToolMap {
  /** By name of the argument, the JSON Pointer of the member that it becomes. Parameters and body stand side by side. */
  readonly takes: Readonly<Record<string, string>>;
  /** The same for the members of the argument `advanced`. */
  readonly advanced: Readonly<Record<string, string>>;
  /** By pointer, the value of an absent argument, or of a member without an argument. */
  readonly defaults: Readonly<Record<string, Json>>;
  readonly answer: AnswerMap;
  /** Whether the answer of the operation is a list. */
  readonly isList: boolean;
  /** Of a task: by name of a member of the answer, whether it may be null. */
  readonly nullable?: Readonly<Record<string, boolean>>;
}

interface AnswerMap {
  /** The tool that reads one item of the list whole. */
  readonly whole?: string;
  /** The path of the list of items. */
  readonly items?: string;
  /** Paths from an item to the values of its line of text. */
  readonly line?: readonly string[];
  /** Paths from the answer to the values of one line below the items. */
  readonly summary?: readonly string[];
  /** The most characters of a value in a line. */
  readonly excerpt?: number;
  /** Paths that the answer never has. The result of a task is whole. */
  readonly omits?: readonly string[];
  /** Paths below which texts are cut to `most` characters, unless `include` names `texts`. */
  readonly texts?: { readonly paths: readonly string[]; readonly most: number };
  /** By path of another list of the answer, how its entries name items. A part has those of its items. */
  readonly follows?: Followers;
  /** By value of the argument `include`, the paths that the answer lacks without it. */
  readonly include?: Readonly<Record<string, readonly string[]>>;
}

/** The arguments that a tool has beside those of its map. */
export const ADVANCED_ARGUMENT = 'advanced';
export const INCLUDE_ARGUMENT = 'include';
/** The argument in place of the header `Idempotency-Key`. */
export const KEY_ARGUMENT = 'idempotencyKey';
