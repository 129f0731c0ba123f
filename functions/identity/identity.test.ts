import { describe, expect, test, vi } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import { createApiKeys } from './api-keys.ts';
import { anonymous, createAuthenticator } from './authenticator.ts';
import { createAuthorizer } from './authorizer.ts';
import { bearerToken } from './credentials.ts';
import { developmentCaller } from './development.ts';

const headers = (fields: Record<string, string>) => new Map(Object.entries(fields));
const unauthenticated = expect.objectContaining({ code: 'unauthenticated' });
const denied = expect.objectContaining({ code: 'permission_denied' });
const canonical = operations.commitCanonicalTransaction;
const open = operations.getHealth;

describe('API keys', () => {
  const keys = createApiKeys({ keys: ['first', 'second'], headerName: 'X-Svc-Api-Key' });

  test('each of several keys is known, in the header or as a bearer token', () => {
    expect(keys.check(headers({ 'x-svc-api-key': 'first' }))).toBe(true);
    expect(keys.check(headers({ 'x-svc-api-key': ' second ' }))).toBe(true);
    expect(keys.check(headers({ authorization: 'bearer second' }))).toBe(true);
    expect(keys.check(headers({}))).toBeUndefined();
    expect(keys.check(headers({ authorization: 'Basic Zmlyc3Q6' }))).toBeUndefined();
  });

  test.each([
    { 'x-svc-api-key': 'third' },
    { 'x-svc-api-key': 'firs' },
    { 'x-svc-api-key': 'first, second' },
    { authorization: 'Bearer third' },
    // A key header is final, whatever the bearer token says.
    { 'x-svc-api-key': 'third', authorization: 'Bearer first' },
  ])('%o is refused without naming it', (fields) => {
    expect(() => keys.check(headers(fields))).toThrow(unauthenticated);
    expect(() => keys.check(headers(fields))).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('third') }),
    );
  });

  test('a blank key header counts as none', () => {
    expect(keys.check(headers({ 'x-svc-api-key': '  ', authorization: 'Bearer first' }))).toBe(true);
  });

  test('the header can have another name', () => {
    const renamed = createApiKeys({ keys: ['first'], headerName: 'X-Our-Key' });
    expect(renamed.check(headers({ 'x-our-key': 'first' }))).toBe(true);
    expect(renamed.check(headers({ 'x-svc-api-key': 'first' }))).toBeUndefined();
  });

  test('no key stays in memory', () => {
    expect(
      JSON.stringify(Object.entries(createApiKeys({ keys: ['s3cret'], headerName: 'X-Svc-Api-Key' }))),
    ).not.toContain('s3cret');
  });
});

describe('bearer tokens', () => {
  test.each([
    ['Bearer a', 'a'],
    ['BEARER  a ', 'a'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearera', undefined],
    ['Bearer\ta', undefined],
    [undefined, undefined],
  ])('%j holds %j', (value, token) => {
    expect(bearerToken(value)).toBe(token);
  });
});

describe('the authenticator', () => {
  const apiKeys = createApiKeys({ keys: ['k'], headerName: 'X-Svc-Api-Key' });

  test('asks for a required key, except where everybody may come', async () => {
    const subject = createAuthenticator({ apiKeys, apiKeyRequired: true, otherwise: anonymous });
    await expect(subject.authenticate(headers({}), canonical)).rejects.toThrow(unauthenticated);
    await expect(subject.authenticate(headers({ 'x-svc-api-key': 'x' }), canonical)).rejects.toThrow(
      unauthenticated,
    );
    expect(await subject.authenticate(headers({ 'x-svc-api-key': 'k' }), canonical)).toEqual({
      kind: 'api-key',
      principal: null,
    });
    expect(await subject.authenticate(headers({ 'x-svc-api-key': 'x' }), open)).toEqual(anonymous);
  });

  test('without a credential the caller is the one of the mode', async () => {
    const subject = createAuthenticator({ apiKeyRequired: false, otherwise: developmentCaller });
    expect(await subject.authenticate(headers({}), canonical)).toEqual(developmentCaller);
  });

  test('a required key that does not exist is a fault of the configuration', () => {
    expect(() => createAuthenticator({ apiKeyRequired: true, otherwise: anonymous })).toThrow(
      'none is configured',
    );
  });

  test('a workload identity goes before a key, and reads Authorization only where no keys are in use', async () => {
    const identify = vi.fn(() => Promise.resolve({ principal: 'a@b', issuedAt: 7 }));
    const keyed = createAuthenticator({
      apiKeys,
      apiKeyRequired: true,
      workloads: { 'canonical-policy': { identify } },
      otherwise: anonymous,
    });
    const workload = { kind: 'workload', principal: 'a@b', issuedAt: 7 };
    expect(await keyed.authenticate(headers({ 'x-svc-api-key': 'k' }), canonical)).toEqual(workload);
    expect(identify).toHaveBeenLastCalledWith(expect.anything(), { fromAuthorization: false });
    // B02: where keys are in use, a token in Authorization is an attempt at a key.
    await expect(keyed.authenticate(headers({ authorization: 'Bearer jwt' }), canonical)).rejects.toThrow(
      unauthenticated,
    );
    const alone = createAuthenticator({
      apiKeyRequired: false,
      workloads: { 'canonical-policy': { identify } },
      otherwise: anonymous,
    });
    expect(await alone.authenticate(headers({ authorization: 'Bearer jwt' }), canonical)).toEqual(workload);
    expect(identify).toHaveBeenLastCalledWith(expect.anything(), { fromAuthorization: true });
  });
});

describe('the authorizer', () => {
  const entries = Object.values<OperationEntry>(operations);

  test.each(entries)('$id: without a policy only its class decides', (entry) => {
    const subject = createAuthorizer();
    const target = { tenantId: 't', now: 0 };
    expect(() => subject.authorize(developmentCaller, entry, target)).not.toThrow();
    if (entry.authorizationClass === 'anonymous') {
      expect(() => subject.authorize(anonymous, entry, target)).not.toThrow();
      return;
    }
    expect(() => subject.authorize(anonymous, entry, target)).toThrow(unauthenticated);
    expect(() => subject.authorize({ kind: 'api-key', principal: null }, entry, target)).toThrow(denied);
    expect(() => subject.authorize({ kind: 'workload', principal: 'a@b' }, entry, target)).toThrow(denied);
  });

  test('a workload is asked of the policy of the class, with the tenant of the path', () => {
    const policy = vi.fn();
    const subject = createAuthorizer({ policies: { 'canonical-policy': policy } });
    subject.authorize({ kind: 'workload', principal: 'a@b' }, canonical, { tenantId: 't', now: 5 });
    expect(policy).toHaveBeenCalledWith({ kind: 'workload', principal: 'a@b' }, canonical, {
      tenantId: 't',
      now: 5,
    });
    expect(() => subject.authorize({ kind: 'workload', principal: null }, canonical, { now: 0 })).toThrow(
      denied,
    );
    expect(() => subject.authorize({ kind: 'api-key', principal: null }, canonical, { now: 0 })).toThrow(
      denied,
    );
  });
});
