import type { Json } from '../schema.ts';

/** An argument of a tool, or a member of an object among its arguments. A text is its description. */
export interface ToolArgument {
  /** JSON Pointer into the parameters and the body; absent: the member of the same name. */
  readonly from?: string;
  readonly description?: string;
  /** The tool sends it for an absent argument. */
  readonly default?: Json;
  /** A lower bound than that of the member. */
  readonly maximum?: number;
  /** The values of a closed set that the member describes in words. */
  readonly values?: readonly string[];
  /** The tool needs an argument for an optional member. */
  readonly required?: true;
}

export type Arguments = Readonly<Record<string, string | ToolArgument>>;

/** The members of an entry that name items, the member that they name, and the values of the line of an entry. */
interface ListFollower {
  readonly members: readonly string[];
  readonly item: string;
  readonly line?: readonly string[];
}

/** How a tool shows the answer of its operation. */
export interface AnswerMap {
  /** The tool that reads one item of the list whole. */
  readonly whole?: string;
  /** The path of the list of items, such as `projection/nodes`; absent for an answer that is a list. */
  readonly items?: string;
  /** Paths from an item to the values of its line, such as `record/id`. */
  readonly line?: readonly string[];
  /** Paths from the answer to the values of one line below the items. */
  readonly summary?: readonly string[];
  /** The most characters of a value in a line; absent: 300. */
  readonly excerpt?: number;
  /** Paths that the schema does not describe, and that the answer of a tool lacks. The result of a task is whole. */
  readonly omits?: readonly string[];
  /** Paths below which texts are cut to `most` characters, unless `include` names `texts`. */
  readonly texts?: { readonly paths: readonly string[]; readonly most: number };
  /** By path of another list of the answer, how its entries name items. A part has those of its items. */
  readonly follows?: Readonly<Record<string, ListFollower>>;
  /** By value of the argument `include`, the paths that the answer lacks without it, with `*` for the items of a list. */
  readonly include?: Readonly<Record<string, readonly string[]>>;
}

/** `mcp.tool` of an entry. */
export interface ToolMap {
  /** Absent: the summary of the operation. */
  readonly title?: string;
  readonly description: string;
  readonly takes: Arguments;
  readonly advanced?: Arguments;
  readonly omits?: readonly string[];
  /** By JSON Pointer, the value that every request of the tool has for a member without an argument. */
  readonly sets?: Readonly<Record<string, Json>>;
  readonly answer?: AnswerMap;
}

/** An item of `toolModels` of `shared.json`: the members that tools take of a model. */
export interface ToolModel {
  readonly takes: Arguments;
  readonly omits?: readonly string[];
  /** Of a model that contains itself: the number of levels, and the members that the last one lacks and those that it needs. */
  readonly recursion?: {
    readonly levels: number;
    readonly lastOmits: readonly string[];
    readonly lastRequires?: readonly string[];
  };
}

export interface ToolSource {
  /** By id of the operation. */
  readonly maps: Readonly<Record<string, ToolMap>>;
  /** By name of the model. */
  readonly models: Readonly<Record<string, ToolModel>>;
}

/** The part of a map that the service reads at run time. */
export interface WrittenMap {
  /** By name of the argument, the pointer of the member that it becomes. */
  readonly takes: Readonly<Record<string, string>>;
  readonly advanced: Readonly<Record<string, string>>;
  /** By pointer, the value of an absent argument, or of a member without an argument. */
  readonly defaults: Readonly<Record<string, Json>>;
  readonly answer: AnswerMap;
  /** Whether the answer of the operation is a list, which the tool wraps as `items`. */
  readonly isList: boolean;
  /** Of a task: by name of a member of the answer, whether it may be null. */
  readonly nullable?: Readonly<Record<string, boolean>>;
}

export function argumentOf(written: string | ToolArgument): ToolArgument {
  return typeof written === 'string' ? { description: written } : written;
}

/** The pointer of the member that an argument takes. */
export function pointerOf(name: string, written: string | ToolArgument): string {
  return argumentOf(written).from ?? `/${name}`;
}
