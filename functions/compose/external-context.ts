import type { Settings } from '../config/table.ts';
import type { ExternalContext } from '../groups/artifacts/dependencies.ts';
import { contextVerifier } from '../identity/external-context.ts';

/** Verifies proofs by the keys of the settings, whose rules have checked them. */
export function externalContextOf({ artifacts }: Settings): ExternalContext {
  const { contextIssuer, contextAudience, contextKeys, contextRequired } = artifacts;
  if (contextIssuer === null || contextAudience === null) return { verify: null, isRequired: false };
  const keys = contextKeys.map(({ KeyId = '', X = '', Y = '' }) => ({ keyId: KeyId, x: X, y: Y }));
  const verify = contextVerifier({ issuer: contextIssuer, audience: contextAudience, keys });
  return { verify, isRequired: contextRequired };
}
