import * as fc from 'fast-check';
import type { Json } from '../../kernel/canonical-json.ts';
import type { FilterNode } from './filter.ts';
import { judged, type RecordCondition } from './judge.ts';
import { indexedPaths, numbers, paths, scalars, words } from './record.fixture.ts';
import type { RecordValue } from './record-key.ts';

const isIndexed = (path: string) => indexedPaths.includes(path.replace(/^\$/, '').replaceAll('.', '/'));
const anyCase = (word: string) =>
  fc.constantFrom(word, word.toUpperCase(), ` ${word} `, `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);

const leaves: fc.Arbitrary<FilterNode> = paths.chain((path) => {
  const node = (op: fc.Arbitrary<string>, value: fc.Arbitrary<Json>) =>
    fc.record({ path: fc.constant(path), op, value });
  const operand = isIndexed(path) ? numbers : fc.oneof(numbers, words, fc.boolean());
  return fc.oneof(
    fc.record({ path: fc.constant(path), value: scalars }),
    node(fc.constantFrom('eq', 'neq').chain(anyCase), scalars),
    node(anyCase('in'), fc.array(scalars, { maxLength: 4 })),
    node(fc.constantFrom('gt', 'gte', 'lt', 'lte').chain(anyCase), operand),
    node(anyCase('exists'), fc.constantFrom(null, true, false)),
    node(fc.constantFrom('contains', 'startsWith').chain(anyCase), words),
  );
});

/** Valid filters: nested groups, empty groups, and nodes without a condition. */
export const filters: fc.Arbitrary<FilterNode> = fc.letrec<{ node: FilterNode; group: FilterNode }>(
  (tie) => ({
    node: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'filter' },
      { weight: 4, arbitrary: leaves },
      { weight: 3, arbitrary: tie('group') },
      {
        weight: 1,
        arbitrary: fc.constantFrom<FilterNode>({}, { path: ' ' }, { children: [], combine: 'all' }),
      },
    ),
    group: fc
      .record({
        combine: fc.constantFrom('all', 'any', 'ANY', ' All '),
        children: fc.array(tie('node'), { maxLength: 4, depthIdentifier: 'filter' }),
      })
      .map((group) => (saysNothing(group) ? { ...group, combine: 'all' } : group)),
  }),
).node;

/** A node without a condition. It may stand in a group, but an `any` must have another child. */
function saysNothing({ path, children }: FilterNode): boolean {
  return (children ?? []).every(saysNothing) && (path ?? '').trim() === '';
}

/** Whether the judge admits the record. */
export function matches(record: RecordValue, condition: RecordCondition): boolean {
  const steps = judged(record, condition);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
