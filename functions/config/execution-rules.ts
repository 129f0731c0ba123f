import type { Rule } from './rule.ts';
import { type Settings, table } from './table.ts';

/** The rules of the execution runtime between its settings. */

const limitPairs = [
  ['defaultListLimit', 'maxListLimit'],
  ['defaultHistoryLimit', 'maxHistoryLimit'],
] as const satisfies readonly (readonly [keyof Settings['execution'], keyof Settings['execution']])[];

/** A limit that nobody wrote gives way to the other; of two that were written one must be a mistake. */
const limitsInOrder: Rule = ({ execution }, _host, isGiven) =>
  limitPairs.flatMap(([standard, most]) => {
    const { key } = table.execution[standard];
    if (execution[standard] <= execution[most] || !isGiven(key)) return [];
    return [
      { key, message: `is more than ${table.execution[most].key} allows, which is ${execution[most]}` },
    ];
  });

/** Workers outside lease by these ids, so each must have one, and mean one handler. */
const externalHandlers: Rule = ({ execution }) => {
  const seen = new Set<string>();
  return execution.externalHandlers.flatMap(({ HandlerId }, index) => {
    const key = `${table.execution.externalHandlers.key}:${index}`;
    if (HandlerId === undefined) return [{ key, message: 'has no HandlerId' }];
    const repeated = seen.has(HandlerId);
    seen.add(HandlerId);
    return repeated ? [{ key, message: 'names a handler that is named already' }] : [];
  });
};

export const executionRules: readonly Rule[] = [limitsInOrder, externalHandlers];
