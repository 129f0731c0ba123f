import { canonicalJson, type JsonObject, sha256 } from '../../kernel/canonical-json.ts';

/** What decides how a provider answers. Nothing in it is secret. */
export interface HashedConfiguration {
  readonly kind: string;
  /** Where it is called, such as its base address; `null` where it is part of the service. */
  readonly address: string | null;
  /** The models with what the settings ask of them, such as the length of vectors. */
  readonly models: JsonObject;
  readonly limits: JsonObject;
  /** The name of the setting or of the file that holds the secret, never the secret; `null`: there is none. */
  readonly secretName: string | null;
}

/**
 * Names a configuration: a qualification made with another one counts no longer. A new secret under the same name changes nothing.
 * The address can be guessed from it, so it is shown to callers of the group alone, and never to strangers.
 */
export function configHash({ kind, address, models, limits, secretName }: HashedConfiguration): string {
  return sha256(canonicalJson({ kind, address, models, limits, secretName }));
}
