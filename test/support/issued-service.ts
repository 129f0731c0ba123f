import { type OidcIssuer, startOidcIssuer } from '../../emulator/oidc-issuer.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type RunningService, type ServiceOptions, startService } from './service.ts';

/** One grant of the canonical store, as the settings write it. */
export interface Grant {
  readonly principal: string;
  readonly tenants: readonly string[];
  readonly operations: readonly string[];
}

export interface IssuedService extends RunningService {
  readonly issuer: OidcIssuer;
}

export const serviceAudience = 'https://svc.example';

/** The settings of a list of grants. */
export function grantSettings(grants: readonly Grant[]): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [index, { principal, tenants, operations }] of grants.entries()) {
    const policy = `Server:CanonicalAccess:IdentityPolicies:${index}`;
    settings[`${policy}:Principal`] = principal;
    for (const [at, tenant] of tenants.entries()) settings[`${policy}:AllowedTenantIds:${at}`] = tenant;
    for (const [at, operation] of operations.entries())
      settings[`${policy}:AllowedOperations:${at}`] = operation;
  }
  return settings;
}

/** The real service outside Development, with a real issuer of tokens on loopback. */
export async function startIssuedService(
  grants: readonly Grant[],
  settings: Readonly<Record<string, string>> = {},
  world?: World,
  watchStore?: ServiceOptions['watchStore'],
): Promise<IssuedService> {
  const issuer = await startOidcIssuer();
  const service = await startService({
    ...(world && { world }),
    ...(watchStore && { watchStore }),
    settings: {
      Environment: 'Production',
      'Server:Oidc:Issuers:0': issuer.issuer,
      'Server:Oidc:KeySetUrl': issuer.keySetUrl,
      'Server:CanonicalAccess:AllowedAudiences:0': serviceAudience,
      ...grantSettings(grants),
      ...settings,
    },
  });
  return {
    ...service,
    issuer,
    async close() {
      await service.close();
      await issuer.stop();
    },
  };
}
