import type { Advice } from './rule.ts';
import { recordsOff } from './rules.ts';
import { type Settings, table } from './table.ts';

const policiesKey = table.recordAccess.identityPolicies.key;

/** Settings of records that fit the rules, and have no effect or less than they seem to. */
export function recordAdvice(settings: Settings): readonly Advice[] {
  return [...vectorAdvice(settings), ...grantAdvice(settings)];
}

function vectorAdvice({ canonicalStore, records }: Settings): readonly Advice[] {
  const { key, fallback } = table.records.vectorMemoryBytes;
  if (canonicalStore.provider !== 'firestore' || records.vectorMemoryBytes === fallback) return [];
  const message = 'has no effect with the provider firestore, which searches vectors itself';
  return [{ key, message, remedy: 'Remove it.' }];
}

function grantAdvice(settings: Settings): readonly Advice[] {
  const { identityPolicies } = settings.recordAccess;
  if (identityPolicies.length === 0) return [];
  if (recordsOff(settings) !== null) {
    const { key } = settings.records.enabled ? table.execution.enabled : table.records.enabled;
    const message = `has no effect while ${key} is false`;
    return [{ key: policiesKey, message, remedy: `Set ${key} to true, or remove the policies.` }];
  }
  if (settings.execution.productPolicies.length === 0) return [];
  return identityPolicies.flatMap(({ ProductId, AllowedOperations = [] }, index) => {
    const starts = AllowedOperations.some((operation) => operation === 'write' || operation === 'delete');
    if (ProductId !== undefined || !starts) return [];
    const key = `${policiesKey}:${index}`;
    const message =
      'names no ProductId: each job of the principal must name productId and tenantId in its query';
    return [{ key, message, remedy: `Name a product of ${table.execution.productPolicies.key}.` }];
  });
}
