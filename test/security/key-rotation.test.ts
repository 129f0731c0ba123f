import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { machine } from '../../functions/compose/machine.ts';
import { createApiKeyText, hashApiKey } from '../../functions/identity/api-keys.ts';
import type { World } from '../../functions/kernel/world.ts';
import { type RunningService, startService } from '../support/service.ts';
import { email, expectRefused, mint, publishing, signingKey, TokenWorld } from '../support/tokens.ts';

/** The rotations of `docs/operating.md`, step by step, with callers that are never refused in between. */

const folder = mkdtempSync(join(tmpdir(), 'svc-rotation-'));
afterAll(() => rmSync(folder, { recursive: true }));

const STEP_MS = 5_000;
const MINUTE_MS = 60_000;

test('API keys of a file: no request of a caller is refused while its key is replaced', async () => {
  const file = join(folder, 'keys.json');
  const [first, second] = [createApiKeyText(machine.random), createApiKeyText(machine.random)];
  const put = (...keys: readonly string[]) => {
    const list = keys.map((key) => ({
      id: key === first ? 'reporting-1' : 'reporting-2',
      hash: hashApiKey(key),
    }));
    writeFileSync(`${file}.new`, JSON.stringify({ keys: list }));
    renameSync(`${file}.new`, file);
  };
  put(first);
  let now = Date.UTC(2026, 0, 1);
  const world: World = { ...machine, clock: { now: () => now } };
  const instance = () => startService({ world, settings: { 'Server:ApiKeyFile': file } });
  const statusOf = async ({ call }: RunningService, key: string) =>
    (await call({ method: 'GET', path: '/execution/runs', headers: { 'x-svc-api-key': key } })).status;
  const instances = [await instance()];
  const answers = (key: string) => Promise.all(instances.map((each) => statusOf(each, key)));
  /** Lets time pass with a request to every instance at each step. */
  const passMinute = async (...keys: readonly string[]) => {
    for (const end = now + MINUTE_MS; now < end; now += STEP_MS) {
      for (const key of keys) expect(await answers(key)).toEqual(instances.map(() => 200));
    }
  };
  try {
    expect(await answers(second)).toEqual([401]);
    await passMinute(first);
    // An instance that started later reads the file at other moments.
    now += 3 * STEP_MS;
    instances.push(await instance());
    put(first, second);
    await passMinute(first);
    // Every instance knows both keys: the callers move, some of them late.
    await passMinute(first, second);
    put(second);
    await passMinute(second);
    expect(await answers(first)).toEqual([401, 401]);
    await passMinute(second);
  } finally {
    await Promise.all(instances.map((each) => each.close()));
  }
});

const TOKEN_MS = 3_600_000;

test('keys of the issuer: no token is refused while the signing key is replaced', async () => {
  const [old, next] = await Promise.all([signingKey('k1'), signingKey('k2')]);
  const tokens = new TokenWorld([old]);
  const instances = [tokens.reader()];
  const accepts = async (token: string) => {
    for (const read of instances) expect(await read(token)).toMatchObject({ principal: email });
  };
  tokens.answer = publishing([old], 'max-age=300');
  await accepts(await mint(old, tokens.claims()));
  // The old key still signs, and one instance has not seen the new set.
  tokens.answer = publishing([old, next], 'max-age=300');
  instances.push(tokens.reader());
  await accepts(await mint(old, tokens.claims()));
  const last = await mint(old, tokens.claims());
  await accepts(await mint(next, tokens.claims()));
  for (let passed = 0; passed < TOKEN_MS; passed += TOKEN_MS / 6) {
    await accepts(last);
    await accepts(await mint(next, tokens.claims()));
    tokens.advance(TOKEN_MS / 6);
  }
  // The last token of the old key has ended, so its key may leave the set.
  tokens.answer = publishing([next], 'max-age=300');
  tokens.advance(300_000);
  await accepts(await mint(next, tokens.claims()));
  for (const read of instances) await expectRefused(read, await mint(old, tokens.claims()));
});

test('the issuer: tokens of both are accepted while one address publishes the keys of both', async () => {
  const [old, next] = await Promise.all([signingKey('old'), signingKey('next')]);
  const tokens = new TokenWorld([old, next]);
  const second = 'https://second.test';
  const read = tokens.reader({ issuers: [String(tokens.claims()['iss']), second] });
  expect(await read(await mint(old, tokens.claims()))).toMatchObject({ principal: email });
  expect(await read(await mint(next, tokens.claims({ iss: second })))).toMatchObject({ principal: email });
  const after = tokens.reader({ issuers: [second] });
  expect(await after(await mint(next, tokens.claims({ iss: second })))).toMatchObject({ principal: email });
  await expectRefused(after, await mint(old, tokens.claims()));
});
