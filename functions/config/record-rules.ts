import type { Rule } from './rule.ts';
import { spacePolicyFaults } from './space-policies.ts';
import { table } from './table.ts';

/** Rules of the settings of collections and records. */

const recordOperations = ['read', 'write', 'delete', 'maintain'];
const policiesKey = table.recordAccess.identityPolicies.key;
const enabledKey = table.records.enabled.key;

/**
 * Without policies the records are off. An operator who enables them in the settings must not get a service without
 * them.
 */
const wantedRecords: Rule = ({ service, execution, records, recordAccess }, _host, isGiven) => {
  if (!records.enabled || !isGiven(enabledKey)) return [];
  if (!execution.enabled) {
    const message = `is true, but ${table.execution.enabled.key} is false: the execution runtime executes the jobs of records`;
    return [{ key: enabledKey, message }];
  }
  if (service.environment === 'Development' || recordAccess.identityPolicies.length > 0) return [];
  const why = `is empty: in the environment ${service.environment} the service serves no records without a policy`;
  return [{ key: policiesKey, message: `${why}; remove ${enabledKey} to run without records` }];
};

const recordPolicies: Rule = (settings) => spacePolicyFaults(settings, 'recordAccess', recordOperations);

export const recordRules: readonly Rule[] = [wantedRecords, recordPolicies];
