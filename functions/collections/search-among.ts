import type { Among } from '../store/search.ts';
import type { RecordQuery } from './page-request.ts';
import type { Incarnation } from './rules/incarnation.ts';
import { partitionPrefix } from './rules/record-key.ts';
import { indexText } from './stored-content.ts';

/** The conditions of all matches that the store's indexes can check; `undefined` if there are none. */
export function amongOf(
  { condition, facts }: Pick<RecordQuery, 'condition' | 'facts'>,
  incarnation: Incarnation,
): Among | undefined {
  const { partitionKeys } = condition;
  const { equal, range } = facts;
  const stored = (value: string) => indexText(incarnation, value);
  const values = Object.entries(equal).map(([index, value]) => [index, stored(value)] as const);
  if (partitionKeys === null && values.length === 0 && range === null) return undefined;
  return {
    ...(partitionKeys === null ? {} : { idPrefixes: [...partitionKeys].map(partitionPrefix).sort() }),
    ...(values.length === 0 ? {} : { equal: Object.fromEntries(values) }),
    ...(range === null
      ? {}
      : { range: { index: range.index, from: stored(range.from), to: stored(range.to) } }),
  };
}
