import { list, members, text, truth } from '../kinds.ts';
import { setting } from '../setting.ts';
import { anyText, tokenIssuer } from './texts.ts';

/** A public key: a point of the curve P-256. */
export interface ContextKeySetting {
  readonly KeyId: string;
  readonly X: string;
  readonly Y: string;
}

const keyName = text('1 to 256 visible ASCII characters', /^[\x21-\x7e]{1,256}$/);
const coordinate = text('32 bytes in base64url without padding', /^[A-Za-z0-9_-]{43}$/);

/** Artifacts: served where collections and records are. */
// biome-ignore format: a table reads better with one setting a line or two
export const artifacts = {
  contextAudience: setting<string | null>('Artifacts:ExternalContext:Audience', anyText, null,
    'The audience that proofs of an external context are made for.'),
  contextIssuer: setting<string | null>('Artifacts:ExternalContext:Issuer', tokenIssuer, null,
    'The issuer of proofs of an external context. Default: the service refuses requests that carry a proof.'),
  contextKeys: setting<readonly Partial<ContextKeySetting>[]>('Artifacts:ExternalContext:Keys',
    list(members<ContextKeySetting>({ KeyId: keyName, X: coordinate, Y: coordinate })), [],
    'The public keys of the issuer, for ES256: KeyId as kid in the header of a proof, X and Y as in its JSON Web Key.'),
  contextRequired: setting('Artifacts:ExternalContext:Required', truth(), false,
    'Whether each artifact needs a proof of its context.'),
} as const;
