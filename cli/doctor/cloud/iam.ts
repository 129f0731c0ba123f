/** Policies of IAM: who has which role on a resource. */

export interface Policy {
  readonly bindings?: readonly {
    readonly role: string;
    readonly members?: readonly string[];
    readonly condition?: object;
  }[];
}

/** A condition of a policy is only shown to a caller that asks for this version. */
export const policyVersion = 3;

export function membersOf(policy: Policy | undefined, role: string): string[] {
  const held = (policy?.bindings ?? []).filter((binding) => binding.role === role);
  return [...new Set(held.flatMap(({ members = [] }) => members))];
}

export function rolesOf(policy: Policy | undefined, member: string): string[] {
  const held = (policy?.bindings ?? []).filter(({ members = [] }) => members.includes(member));
  return [...new Set(held.map(({ role }) => role))];
}

export function memberOf(email: string): string {
  return `serviceAccount:${email}`;
}
