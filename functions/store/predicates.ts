import type { ListSelection } from './port.ts';

/** A condition on one index of a list, with inclusive bounds; an equality has the same value at both. */
export interface Predicate {
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/**
 * One predicate an index, for the providers that judge lists by SQL. `undefined` when the range leaves out what an
 * equality on the same index asks for: then nothing can match.
 */
export function mergePredicates({ equal = {}, range }: ListSelection): Predicate[] | undefined {
  const predicates: Predicate[] = Object.entries(equal).map(([name, value]) => ({
    name,
    from: value,
    to: value,
  }));
  if (range === undefined) return predicates;
  const { index: name, from, to } = range;
  if (!Object.hasOwn(equal, name)) return [...predicates, { name, from, to }];
  const value = Buffer.from(equal[name] ?? '');
  if (from !== undefined && Buffer.compare(value, Buffer.from(from)) < 0) return undefined;
  if (to !== undefined && Buffer.compare(value, Buffer.from(to)) > 0) return undefined;
  return predicates;
}

export function isEquality({ from, to }: Predicate): boolean {
  return from !== undefined && from === to;
}
