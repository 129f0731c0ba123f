import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { ServiceError } from '../kernel/errors.ts';
import { createApiKeys, createApiKeyText, hashApiKey, isApiKeyHash } from './api-keys.ts';

const headers = (fields: Record<string, string>) => new Map(Object.entries(fields));
const unauthenticated = expect.objectContaining({ code: 'unauthenticated' });
const unavailable = expect.objectContaining({ code: 'unavailable' });
const headerName = 'X-Svc-Api-Key';

describe('checking a key', () => {
  const keys = createApiKeys({ hashes: ['first', 'second'].map(hashApiKey), headerName });

  test('C04: each of several keys is known, in the header or as a bearer token', async () => {
    expect(await keys.check(headers({ 'x-svc-api-key': 'first' }))).toBe(true);
    expect(await keys.check(headers({ 'x-svc-api-key': ' second ' }))).toBe(true);
    expect(await keys.check(headers({ authorization: 'bearer second' }))).toBe(true);
    expect(await keys.check(headers({}))).toBeUndefined();
    expect(await keys.check(headers({ authorization: 'Basic Zmlyc3Q6' }))).toBeUndefined();
  });

  test.each([
    { 'x-svc-api-key': 'third' },
    { 'x-svc-api-key': 'firs' },
    { 'x-svc-api-key': 'first, second' },
    // The hash of a key is no key.
    { 'x-svc-api-key': hashApiKey('first') },
    { 'x-svc-api-key': hash('sha256', 'first') },
    { authorization: 'Bearer third' },
    // A key header is final: a valid bearer token beside it does not count.
    { 'x-svc-api-key': 'third', authorization: 'Bearer first' },
  ])('%o is refused without naming it', async (fields) => {
    await expect(keys.check(headers(fields))).rejects.toThrow(unauthenticated);
    await expect(keys.check(headers(fields))).rejects.toThrow('The API key was not accepted.');
  });

  test('a known key in its header is accepted with any value of Authorization', async () => {
    const fields = { 'x-svc-api-key': 'first', authorization: 'Bearer third' };
    expect(await keys.check(headers(fields))).toBe(true);
  });

  test('a blank key header counts as none', async () => {
    expect(await keys.check(headers({ 'x-svc-api-key': '  ', authorization: 'Bearer first' }))).toBe(true);
  });

  test('the header can have another name', async () => {
    const renamed = createApiKeys({ hashes: [hashApiKey('first')], headerName: 'X-Our-Key' });
    expect(await renamed.check(headers({ 'x-our-key': 'first' }))).toBe(true);
    expect(await renamed.check(headers({ 'x-svc-api-key': 'first' }))).toBeUndefined();
  });

  test('C02: keys of every length are compared, by digests of one length', async () => {
    for (const length of [1, 31, 32, 33, 512, 10_000]) {
      const refused = keys.check(headers({ 'x-svc-api-key': 'f'.repeat(length) }));
      await expect(refused, `${length}`).rejects.toThrow(unauthenticated);
    }
  });

  test.each(['', 'secret', hashApiKey('k').toUpperCase(), `${hashApiKey('k')}0`, `${hashApiKey('k')}\n`])(
    'C01: %j is refused as a hash, and not quoted',
    (text) => {
      expect(() => createApiKeys({ hashes: [text], headerName })).toThrow(
        /^the hash of an API key is sha256: and 64 hexadecimal digits$/,
      );
    },
  );
});

describe('keys of a file', () => {
  const fixed = [hashApiKey('fixed')];

  test('C04: they are accepted beside the fixed ones, as the file has them at the moment', async () => {
    let listed = [hashApiKey('old'), hashApiKey('new')];
    const keys = createApiKeys({ hashes: fixed, headerName, file: { hashes: async () => listed } });
    for (const key of ['fixed', 'old', 'new']) {
      expect(await keys.check(headers({ 'x-svc-api-key': key })), key).toBe(true);
    }
    listed = [hashApiKey('new')];
    await expect(keys.check(headers({ 'x-svc-api-key': 'old' }))).rejects.toThrow(unauthenticated);
    expect(await keys.check(headers({ 'x-svc-api-key': 'new' }))).toBe(true);
  });

  test('while they are not known, only the fixed ones are, and no other is called wrong', async () => {
    const fault = new ServiceError('unavailable', 'not now');
    const keys = createApiKeys({ hashes: fixed, headerName, file: { hashes: () => Promise.reject(fault) } });
    expect(await keys.check(headers({ 'x-svc-api-key': 'fixed' }))).toBe(true);
    await expect(keys.check(headers({ 'x-svc-api-key': 'other' }))).rejects.toThrow(unavailable);
  });

  test('without a key the file is not asked', async () => {
    const hashes = vi.fn(async () => []);
    const keys = createApiKeys({ hashes: fixed, headerName, file: { hashes } });
    expect(await keys.check(headers({}))).toBeUndefined();
    expect(hashes).not.toHaveBeenCalled();
  });
});

describe('the text of a key', () => {
  const random = { bytes: (size: number) => new Uint8Array(size).fill(7) };

  test('C05: it has the prefix, 256 random bits and a check, and the form is pinned', () => {
    const key = createApiKeyText(random);
    const secret = Buffer.alloc(32, 7).toString('base64url');
    const check = hash('sha256', `svc_live_${secret}`, 'base64url').slice(0, 6);
    expect(key).toBe(`svc_live_${secret}${check}`);
    // The check was made by another program. In parts, so that no scanner takes the text for a key that leaked.
    expect(key).toBe(['svc', 'live', 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcdaVbQ-'].join('_'));
    expect(key).toHaveLength(58);
  });

  test('C01: the hash of a key is its SHA-256', () => {
    expect(hashApiKey('abc')).toBe('sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  test('the check of every new key is made of its own characters', () => {
    const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(secrets, (bytes) => {
        const key = createApiKeyText({ bytes: () => bytes });
        expect(key).toMatch(/^svc_live_[A-Za-z0-9_-]{49}$/);
        expect(key.slice(-6)).toBe(hash('sha256', key.slice(0, -6), 'base64url').slice(0, 6));
      }),
    );
  });

  test('texts that are near to a hash are none', () => {
    const whole = hashApiKey('a key');
    expect(isApiKeyHash(whole)).toBe(true);
    for (const text of [
      ` ${whole}`,
      `${whole}0`,
      `${whole}\n`,
      whole.slice(0, -1),
      whole.toUpperCase(),
      whole.slice(7),
    ])
      expect(isApiKeyHash(text), text).toBe(false);
  });

  test('C03: a wrong check, an unknown key and a wrong secret are refused alike, and a known key by its hash alone', async () => {
    const world = new ManualWorld();
    const known = createApiKeyText(world.random);
    const asked = vi.fn(async () => [hashApiKey(known), hashApiKey('of another form')]);
    const keys = createApiKeys({ hashes: [], headerName, file: { hashes: asked } });
    expect(await keys.check(headers({ 'x-svc-api-key': known }))).toBe(true);
    expect(await keys.check(headers({ 'x-svc-api-key': 'of another form' }))).toBe(true);
    const wrong = [`${known.slice(0, -6)}AAAAAA`, createApiKeyText(world.random), 'unknown'];
    const answers = [];
    asked.mockClear();
    for (const key of wrong) {
      const refusal = keys.check(headers({ 'x-svc-api-key': key }));
      answers.push(await refusal.catch((error: ServiceError) => [error.code, error.message]));
    }
    const [first] = answers;
    expect(first).toEqual(['unauthenticated', 'The API key was not accepted.']);
    expect(answers).toEqual([first, first, first]);
    expect(asked).toHaveBeenCalledTimes(wrong.length);
  });
});
