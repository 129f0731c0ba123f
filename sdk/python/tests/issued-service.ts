/**
 * An issuer of identity tokens on loopback. Prints one line of JSON with the service settings and tokens, and ends
 * with its input.
 */
import { startOidcIssuer } from '../../../emulator/oidc-issuer.ts';
import { hashApiKey } from '../../../functions/identity/api-keys.ts';
import { grantSettings, serviceAudience } from '../../../test/support/issued-service.ts';

const [principal = '', tenant = '', apiKey = ''] = process.argv.slice(2);
const issuer = await startOidcIssuer();
const mint = (email: string) => issuer.mint({ email, audience: serviceAudience });
const settings = {
  Environment: 'Production',
  'Server:Oidc:Issuers:0': issuer.issuer,
  'Server:Oidc:KeySetUrl': issuer.keySetUrl,
  'Server:CanonicalAccess:AllowedAudiences:0': serviceAudience,
  'Server:ApiKeyHashes:0': hashApiKey(apiKey),
  ...grantSettings([{ principal, tenants: [tenant], operations: ['read', 'write'] }]),
};
const said = { settings, known: await mint(principal), stranger: await mint('stranger@project.example') };
process.stdout.write(`${JSON.stringify(said)}\n`);
for await (const _ of process.stdin) continue;
await issuer.stop();
