import type { Rule, RuleFault } from './rule.ts';
import { spacePolicyFaults, spelling } from './space-policies.ts';
import { table } from './table.ts';

/** Rules of the policies of providers. */

const providerOperations = ['read', 'run', 'qualify'];

const providerPolicies: Rule = (settings) =>
  spacePolicyFaults(settings, 'providerAccess', providerOperations);

/** The traces of a principal's runs are in its space: with another space for records it would never see them, and others would. */
const oneSpace: Rule = (settings) => {
  const same = spelling(settings, 'recordAccess');
  const spaces = new Map(
    settings.recordAccess.identityPolicies.map(({ Principal = '', Space }) => [same(Principal), Space]),
  );
  return settings.providerAccess.identityPolicies.flatMap(({ Principal = '', Space }, index): RuleFault[] => {
    const known = spaces.get(same(Principal));
    if (known === undefined || known === Space) return [];
    const key = `${table.providerAccess.identityPolicies.key}:${index}`;
    const other = table.recordAccess.identityPolicies.key;
    return [{ key, message: `names another Space than ${other} gives its Principal: a principal has one` }];
  });
};

export const providerRules: readonly Rule[] = [providerPolicies, oneSpace];
