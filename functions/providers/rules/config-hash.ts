import { canonicalJson, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';

/** The settings that affect a provider's answers. No member is secret. */
export interface HashedConfiguration {
  readonly kind: string;
  /** The address of its calls, such as its base URL; `null` for a part of the service. */
  readonly address: string | null;
  /** The models with their settings, such as the length of vectors. */
  readonly models: JsonObject;
  readonly limits: JsonObject;
  /** The name of the setting or of the file with the secret, never the secret; `null` without one. */
  readonly secretName: string | null;
}

/**
 * Names a configuration: a qualification made with another one counts no longer. A new secret under the same name changes nothing.
 * The address can be guessed from it, so it is shown to callers of the group alone, and never to strangers.
 */
export function configHash({ kind, address, models, limits, secretName }: HashedConfiguration): string {
  return sha256(canonicalJson({ kind, address, models, limits, secretName }));
}
