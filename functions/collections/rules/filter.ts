import type { Json } from '../../kernel/canonical-json.ts';
import { invalidMember } from '../../kernel/errors.ts';
import { SearchedText } from './contains.ts';
import { isScalar, type Scalar } from './index-value.ts';
import { type RecordPath, readPath } from './path.ts';

const DEPTH_MAX = 16;
const NODES_MAX = 100;

/** A node of a request's filter. */
export interface FilterNode {
  readonly path?: string | null;
  readonly op?: string | null;
  readonly value?: Json;
  readonly combine?: string | null;
  readonly children?: readonly FilterNode[] | null;
}

export type Filter = FilterGroup | FilterLeaf;

/** Has at least two children. */
interface FilterGroup {
  readonly combine: 'all' | 'any';
  readonly children: readonly Filter[];
}

export type FilterLeaf =
  | { readonly op: 'eq' | 'neq'; readonly path: RecordPath; readonly value: Scalar }
  | { readonly op: 'in'; readonly path: RecordPath; readonly values: ReadonlySet<Scalar> }
  | { readonly op: ComparisonOp; readonly path: RecordPath; readonly value: NonNullScalar }
  | { readonly op: 'exists'; readonly path: RecordPath; readonly present: boolean }
  | { readonly op: 'contains'; readonly path: RecordPath; readonly text: SearchedText }
  | { readonly op: 'startsWith'; readonly path: RecordPath; readonly text: string };

export type ComparisonOp = 'gt' | 'gte' | 'lt' | 'lte';
export type NonNullScalar = string | number | boolean;

/**
 * Reads a filter into the form that the judge takes. A group of one child becomes the child, nodes without a condition are dropped,
 * and an `any` without conditions is refused. `null` restricts nothing. `indexed` are the indexed paths of the policy, on which a
 * comparison needs a number. Throws `validation_failed` or `limit_exceeded` naming the node below `pointer`.
 */
export function readFilter(
  node: FilterNode | null | undefined,
  indexed: readonly string[],
  pointer = '/filter',
): Filter | null {
  if (node === null || node === undefined) return null;
  const paths = new Set(indexed.map((path) => readPath(path, '').text));
  return new FilterReader(paths).node(node, pointer, 1);
}

class FilterReader {
  readonly #indexed: ReadonlySet<string>;
  #nodes = 0;

  constructor(indexed: ReadonlySet<string>) {
    this.#indexed = indexed;
  }

  node(node: FilterNode, pointer: string, depth: number): Filter | null {
    if (depth > DEPTH_MAX) {
      throw invalidMember(pointer, `must be nested at most ${DEPTH_MAX} deep`, 'limit_exceeded');
    }
    this.#nodes += 1;
    if (this.#nodes > NODES_MAX) {
      throw invalidMember(pointer, `must be one of at most ${NODES_MAX} nodes`, 'limit_exceeded');
    }
    const combine = (node.combine ?? '').trim().toLowerCase();
    const children = node.children ?? null;
    const path = (node.path ?? '').trim() === '' ? null : (node.path ?? '');
    // Clients that write every member give a leaf an empty list.
    const isLeaf = path !== null && (children === null || (combine === '' && children.length === 0));
    if (isLeaf) return this.#leaf(node, path, pointer);
    // A misspelt or missing word must not turn `any` into `all`, or match every record.
    if (children !== null && combine !== 'all' && combine !== 'any')
      throw invalidMember(
        `${pointer}/combine`,
        combine === '' ? 'must be added beside children, as all or any' : 'must be all or any',
      );
    const group = this.#group(combine, children ?? [], pointer, depth);
    // An `any` without conditions holds for no record, and a path without its condition must not match every record.
    if (group === null && (combine === 'any' || path !== null))
      throw invalidMember(`${pointer}/children`, 'must have a condition');
    return group;
  }

  #group(combine: string, nodes: readonly FilterNode[], pointer: string, depth: number): Filter | null {
    const children = nodes.flatMap((child, index) => {
      const read = this.node(child, `${pointer}/children/${index}`, depth + 1);
      return read === null ? [] : [read];
    });
    const [only] = children;
    if (children.length < 2) return only ?? null;
    return { combine: combine === 'any' ? 'any' : 'all', children };
  }

  #leaf(node: FilterNode, pathText: string, pointer: string): FilterLeaf {
    const path = readPath(pathText, `${pointer}/path`);
    const value = node.value ?? null;
    const valuePointer = `${pointer}/value`;
    const op = (node.op ?? '').trim().toLowerCase();
    if (op === 'in') return { op, path, values: readValues(value, valuePointer) };
    if (!isScalar(value)) throw invalidMember(valuePointer, 'must be scalar for this operator');
    switch (op) {
      case '':
      case 'eq':
        return { op: 'eq', path, value };
      case 'neq':
        return { op, path, value };
      case 'gt':
      case 'gte':
      case 'lt':
      case 'lte':
        return { op, path, value: this.#operand(value, path, valuePointer) };
      case 'exists':
        if (value !== null && typeof value !== 'boolean') {
          throw invalidMember(valuePointer, 'must be true, false or null for this operator');
        }
        return { op, path, present: value ?? true };
      case 'contains':
      case 'startswith':
        if (typeof value !== 'string')
          throw invalidMember(valuePointer, 'must be a string for this operator');
        return op === 'contains'
          ? { op, path, text: new SearchedText(value) }
          : { op: 'startsWith', path, text: value };
      default:
        throw invalidMember(
          `${pointer}/op`,
          'must be one of eq, neq, in, gt, gte, lt, lte, exists, contains, startsWith',
        );
    }
  }

  #operand(value: Scalar, path: RecordPath, pointer: string): NonNullScalar {
    if (value === null) throw invalidMember(pointer, 'must not be null for this operator');
    if (this.#indexed.has(path.text) && typeof value !== 'number') {
      throw invalidMember(
        pointer,
        'must be a number, because the path is indexed: for dates and other texts use startsWith, such as 2026-01',
      );
    }
    return value;
  }
}

function readValues(value: Json, pointer: string): ReadonlySet<Scalar> {
  if (!Array.isArray(value)) throw invalidMember(pointer, 'must be an array for this operator');
  const values = new Set<Scalar>();
  for (const [index, each] of (value as readonly Json[]).entries()) {
    if (!isScalar(each)) throw invalidMember(`${pointer}/${index}`, 'must be scalar');
    values.add(each);
  }
  return values;
}
