import { isPattern, isTenantId, operationFaults } from './policy-texts.ts';
import type { RuleFault } from './rule.ts';
import type { SpaceIdentityPolicy } from './settings/access.ts';
import { type Settings, table } from './table.ts';

/** The parts of the settings whose policies give each principal one space. */
export type SpacePart = 'recordAccess' | 'providerAccess';

/** The faults of the policies of one part; each names its place in the list. */
export function spacePolicyFaults(
  settings: Settings,
  part: SpacePart,
  operations: readonly string[],
): readonly RuleFault[] {
  const same = spelling(settings, part);
  const spaces = new Map<string, string | undefined>();
  return settings[part].identityPolicies.flatMap((policy, index) => {
    const key = `${table[part].identityPolicies.key}:${index}`;
    const messages = policyFaults(policy, operations, settings);
    const principal = same(policy.Principal ?? '');
    if (spaces.has(principal) && spaces.get(principal) !== policy.Space) {
      messages.push('names a second Space of its Principal: a principal has one');
    }
    spaces.set(principal, policy.Space);
    return messages.map((message): RuleFault => ({ key, message }));
  });
}

function policyFaults(
  policy: Partial<SpaceIdentityPolicy>,
  operations: readonly string[],
  { execution }: Settings,
): string[] {
  const { Principal, Space, ProductId, AllowedOperations = [] } = policy;
  const faults = operationFaults(AllowedOperations, operations);
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
export function spelling(settings: Settings, part: SpacePart): (principal: string) => string {
  const { authenticatorType, authenticationMode } = settings[part];
  const mailboxes =
    authenticatorType === null &&
    (authenticationMode === 'development-header' || settings.oidc.principalClaim === 'email');
  return (principal) =>
    mailboxes ? principal.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : principal;
}
