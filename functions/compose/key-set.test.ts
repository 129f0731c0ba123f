import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createSigningKey, mintToken, type SigningKey } from '../../cli/identity/signing-key.ts';
import { withKey } from '../../cli/init/credentials.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { readSettings } from '../config/load.ts';
import { createOidcIdentity } from '../identity/oidc/oidc-identity.ts';
import { keySetOf } from './key-set.ts';
import { machine } from './machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-key-set-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'keys.json');

function settingsOf(keySetFile: string) {
  const argv = [`--Server:Oidc:KeySetFile=${keySetFile}`];
  return readSettings({ host: 'embedded', env: {}, argv, readFile: () => undefined }).settings;
}

/** The library reads the clock of the machine, so that a world begins a minute before it and ends there. */
function minuteAgo(): ManualWorld {
  const world = new ManualWorld();
  world.now = Date.now() - 60_001;
  return world;
}

async function identity(world: ManualWorld) {
  const rules = {
    audiences: ['svc'],
    issuers: ['own'],
    authorizedParties: [],
    principalClaim: 'sub',
  } as const;
  const keys = await keySetOf(settingsOf(path), { ...machine, clock: world.clock });
  const oidc = createOidcIdentity({ ...rules, verification: 'application', keys, clock: world.clock });
  return (key: SigningKey) => {
    const issuedAt = Math.floor(world.now / 1_000);
    const claims = { issuer: 'own', audience: 'svc', principal: 'app', issuedAt, lifetimeSeconds: 3_600 };
    const token = mintToken(key, { ...claims, principalClaim: 'sub' });
    return oidc.identify(new Map([['authorization', `Bearer ${token}`]]), { fromAuthorization: true });
  };
}

test('a token that a key of the file signed names its principal, and every other is refused', async () => {
  const [key, other] = [await createSigningKey(), await createSigningKey()];
  writeFileSync(path, withKey(null, key.jwk));
  const ask = await identity(minuteAgo());
  expect(await ask(key)).toMatchObject({ principal: 'app' });
  await expect(ask(other)).rejects.toMatchObject({ code: 'unauthenticated' });
});

test('the file is read again after a minute: an added key counts, a removed one is refused', async () => {
  const [first, second] = [await createSigningKey(), await createSigningKey()];
  writeFileSync(path, withKey(null, first.jwk));
  const world = minuteAgo();
  const ask = await identity(world);
  await ask(first);
  writeFileSync(path, withKey(null, second.jwk));
  world.advance(60_001);
  expect(await ask(second)).toMatchObject({ principal: 'app' });
  await expect(ask(first)).rejects.toMatchObject({ code: 'unauthenticated' });
});

test('a file that is missing or holds no keys ends the start', async () => {
  const missing = keySetOf(settingsOf(join(folder, 'nowhere.json')), machine);
  await expect(missing).rejects.toThrow('The file that Server:Oidc:KeySetFile names does not exist.');
  writeFileSync(path, '{"a": 1}');
  const damaged = keySetOf(settingsOf(path), machine);
  await expect(damaged).rejects.toThrow('The file that Server:Oidc:KeySetFile names holds no key set.');
});
