/** Adds an application identity to settings in the form that `svc init` writes. Pure. */

type Members = Record<string, unknown>;

export interface AddedIdentity {
  readonly principal: string;
  /** Tenants of the new identity; `null`: the tenants of the existing application. */
  readonly tenants: readonly string[] | null;
}

export type Addition =
  | {
      readonly settings: Members;
      /** The identity whose grants the new one has. */
      readonly like: string;
      /** The lists that have one more entry, and other members that changed. */
      readonly changed: readonly string[];
      readonly audience: string;
      readonly issuer: string | null;
      readonly apiKeyFile: string | null;
    }
  | { readonly refusal: string; readonly isThere?: true }
  /** The request is refused, whichever form the settings have. */
  | { readonly usage: string };

const accesses = ['CanonicalAccess', 'ExecutionAccess', 'RecordAccess', 'ProviderAccess'] as const;

/** The settings with one more identity, which may do what the application may that starts runs. */
export function withIdentity(given: unknown, identity: AddedIdentity): Addition {
  const settings = structuredClone(given);
  if (!isMembers(settings) || !isMembers(settings['Server'])) return { refusal: 'it has no section Server' };
  const server = settings['Server'];
  const lists = new Map<string, Members[]>();
  for (const name of accesses) {
    const list = policiesIn(server[name]);
    if (list === null) return { refusal: `Server:${name}:IdentityPolicies is no list of policies` };
    lists.set(name, list);
  }
  const known = [...lists.values()].flat().map(({ Principal }) => Principal);
  if (known.includes(identity.principal))
    return { refusal: `it has policies of the principal ${identity.principal} already`, isThere: true };
  const like = applicationIn(lists.get('ExecutionAccess') ?? []);
  if (like === null)
    return { refusal: 'no policy of Server:ExecutionAccess grants start_run to an application' };
  const changed: string[] = [];
  for (const [name, list] of lists) {
    const own = list.filter(({ Principal }) => Principal === like);
    if (own.length !== 1)
      return { refusal: `Server:${name} has ${own.length} policies of ${like}, where svc init writes one` };
    const [policy] = own as [Members];
    if ('Space' in policy && (identity.tenants?.length ?? 0) > 1) return { usage: oneSpace(name, identity) };
    list.push(policyFor(policy, identity));
    changed.push(`Server:${name}:IdentityPolicies:${list.length - 1}`);
  }
  const product = lists.get('ExecutionAccess')?.find(({ Principal }) => Principal === like)?.['ProductId'];
  changed.push(...openProduct(settings, product, identity.tenants ?? []));
  const audience = firstText(server['CanonicalAccess'], 'AllowedAudiences');
  if (audience === null) return { refusal: 'Server:CanonicalAccess:AllowedAudiences names no audience' };
  return { settings, like, changed, audience, ...credentialsIn(server) };
}

function policiesIn(access: unknown): Members[] | null {
  const list = isMembers(access) ? access['IdentityPolicies'] : undefined;
  return Array.isArray(list) && list.every(isMembers) ? list : null;
}

function applicationIn(policies: readonly Members[]): string | null {
  const found = policies.find(({ AllowedOperations }) => textsIn(AllowedOperations).includes('start_run'));
  return typeof found?.['Principal'] === 'string' ? found['Principal'] : null;
}

/** The service takes one space for each principal. */
function oneSpace(name: string, { principal, tenants }: AddedIdentity): string {
  const count = tenants?.length ?? 0;
  return `a policy of Server:${name} names one Space, so ${principal} can have one tenant and not ${count}: name one with --tenant, and add an identity for each other one`;
}

/** The grants of the other, for other tenants where they are named. */
function policyFor(like: Members, { principal, tenants }: AddedIdentity): Members {
  const policy: Members = { ...structuredClone(like), Principal: principal };
  if (tenants === null) return policy;
  if ('Space' in policy) policy['Space'] = tenants[0];
  // Without the member the other may use all tenants.
  else policy['AllowedTenantIds'] = [...tenants];
  return policy;
}

/** The product must allow the tenants too. */
function openProduct(settings: Members, product: unknown, tenants: readonly string[]): string[] {
  const runtime = settings['ExecutionRuntime'];
  const policies = isMembers(runtime) ? runtime['ProductPolicies'] : undefined;
  if (!Array.isArray(policies)) return [];
  return policies.flatMap((policy: unknown, at) => {
    if (!isMembers(policy) || policy['ProductId'] !== product || !('AllowedTenantIds' in policy)) return [];
    const before = textsIn(policy['AllowedTenantIds']);
    const more = tenants.filter((tenant) => !before.includes(tenant));
    if (more.length === 0) return [];
    policy['AllowedTenantIds'] = [...before, ...more];
    return [`ExecutionRuntime:ProductPolicies:${at}:AllowedTenantIds`];
  });
}

function credentialsIn(server: Members) {
  const { ApiKeyFile: keys } = server;
  const issuer = firstText(server['Oidc'], 'Issuers');
  return { issuer, apiKeyFile: typeof keys === 'string' ? keys : null };
}

function firstText(members: unknown, name: string): string | null {
  return isMembers(members) ? (textsIn(members[name])[0] ?? null) : null;
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
