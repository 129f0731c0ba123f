import { isPattern, isTenantId, operationFaults } from './policy-texts.ts';
import type { Rule, RuleFault } from './rule.ts';
import type { RecordIdentityPolicy } from './settings/access.ts';
import { type Settings, table } from './table.ts';

/** Rules of the settings of collections and records. */

const recordOperations = ['read', 'write', 'delete', 'maintain'];
const policiesKey = table.recordAccess.identityPolicies.key;
const enabledKey = table.records.enabled.key;

/** Without policies the records are off. An operator who asks for them in the settings must not get a service without them. */
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

const recordPolicies: Rule = (settings) => {
  const { identityPolicies } = settings.recordAccess;
  const same = spelling(settings);
  const spaces = new Map<string, string | undefined>();
  return identityPolicies.flatMap((policy, index) => {
    const key = `${policiesKey}:${index}`;
    const messages = policyFaults(policy, settings);
    const principal = same(policy.Principal ?? '');
    if (spaces.has(principal) && spaces.get(principal) !== policy.Space) {
      messages.push('names a second Space of its Principal: a principal has one');
    }
    spaces.set(principal, policy.Space);
    return messages.map((message): RuleFault => ({ key, message }));
  });
};

function policyFaults(policy: Partial<RecordIdentityPolicy>, { execution }: Settings): string[] {
  const { Principal, Space, ProductId, AllowedOperations = [] } = policy;
  const faults = operationFaults(AllowedOperations, recordOperations);
  if (Principal === undefined) faults.push('has no Principal');
  if (Space === undefined) faults.push('has no Space');
  else if (!isTenantId(Space)) faults.push('names a Space that is not a single path segment');
  else if (Space === '*' || isPattern(Space)) {
    faults.push('names a Space with a * in it: there are no patterns');
  }
  const products = execution.productPolicies;
  if (
    ProductId !== undefined &&
    products.length > 0 &&
    !products.some((each) => each.ProductId === ProductId)
  ) {
    faults.push(`names a product that has no policy in ${table.execution.productPolicies.key}`);
  }
  return faults;
}

/** Principals that the service compares without regard to case are one principal here, too. */
function spelling({ recordAccess, oidc }: Settings): (principal: string) => string {
  const mailboxes =
    recordAccess.authenticatorType === null &&
    (recordAccess.authenticationMode === 'development-header' || oidc.principalClaim === 'email');
  return (principal) =>
    mailboxes ? principal.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : principal;
}

export const recordRules: readonly Rule[] = [wantedRecords, recordPolicies];
