import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  email,
  expectRefused,
  mint,
  mintRaw,
  publishing,
  signingKey,
  type TokenReader,
  TokenWorld,
} from '../support/tokens.ts';

/** Attacks on the keys that identity tokens are verified with, by the ids of the threat table. */

const [key, next] = await Promise.all([signingKey('k1'), signingKey('k2')]);
const header = { alg: 'RS256', kid: 'k1', typ: 'JWT' };

let world: TokenWorld;
let read: TokenReader;
beforeEach(() => {
  world = new TokenWorld([key]);
  read = world.reader();
});

describe('A19: the keys of the issuer change', () => {
  test('and a token of the new key is accepted at once, one of the old key to the end of max-age', async () => {
    world.answer = publishing([key], 'max-age=300');
    const old = await mint(key, world.claims());
    await read(old);
    world.answer = publishing([key, next], 'max-age=300');
    expect(await read(await mint(next, world.claims()))).toMatchObject({ principal: email });
    world.answer = publishing([next], 'max-age=300');
    world.advance(299_999);
    expect(await read(old)).not.toBeNull();
    world.advance(1);
    await expectRefused(read, old);
    expect(world.fetches).toBe(3);
  });
});

describe('A20: the issuer does not answer', () => {
  test('and tokens of keys that are known are still accepted', async () => {
    await read(await mint(key, world.claims()));
    world.answer = () => Promise.reject(new Error('down'));
    world.advance(12 * 3_600_000);
    expect(await read(await mint(key, world.claims()))).not.toBeNull();
    await expectRefused(read, mintRaw(key, { ...header, kid: 'unknown' }, world.claims()));
  });

  test('without any known key the answer says so; invalid tokens are refused as always', async () => {
    world.answer = () => Promise.reject(new Error('down'));
    const token = await mint(key, world.claims());
    await expect(read(token)).rejects.toThrow(expect.objectContaining({ code: 'unavailable' }));
    await expectRefused(read, await mint(key, world.claims({ aud: 'x' })));
  });

  test('but redirects elsewhere: the service does not follow', async () => {
    let elsewhere = 0;
    const other = await serve((request) => {
      elsewhere += 1;
      request.destroy();
    });
    const redirecting = await serve((_, response) => {
      response.writeHead(302, { location: other.url }).end();
    });
    world.answer = (_url, init) => fetch(redirecting.url, init);
    await expect(read(await mint(key, world.claims()))).rejects.toThrow(
      expect.objectContaining({ code: 'unavailable' }),
    );
    expect(elsewhere).toBe(0);
    for (const { server } of [other, redirecting]) server.close();
  });
});

async function serve(
  listener: Parameters<typeof createServer>[1] & object,
): Promise<{ url: string; server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

test('A21: 50 first requests at once cause one request for the keys', async () => {
  const tokens = await Promise.all(
    Array.from({ length: 50 }, (_, at) => mint(key, world.claims({ sub: `s${at}` }))),
  );
  expect(await Promise.all(tokens.map(read))).toHaveLength(50);
  expect(world.fetches).toBe(1);
});
