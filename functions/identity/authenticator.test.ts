import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { createApiKeys, hashApiKey } from './api-keys.ts';
import { anonymous, createAuthenticator } from './authenticator.ts';
import { bearerToken, type CredentialHeaders } from './credentials.ts';
import { createCustomIdentity } from './custom-identity.ts';
import { developmentCaller } from './development.ts';
import { createDevelopmentIdentity } from './development-header.ts';
import type { WorkloadIdentity } from './workload.ts';

const headers = (fields: Record<string, string>) => new Map(Object.entries(fields));
const unauthenticated = expect.objectContaining({ code: 'unauthenticated' });
const canonical = operations.commitCanonicalTransaction;
const open = operations.getHealth;
const headerName = 'X-Svc-Api-Key';
const apiKeys = createApiKeys({ hashes: [hashApiKey('k')], headerName });

/** As an OIDC identity chooses its token, whose text is here the principal. */
const identifyByToken: WorkloadIdentity['identify'] = async (fields, { fromAuthorization }) => {
  const serverless = bearerToken(fields.get('x-serverless-authorization'));
  const token = serverless ?? (fromAuthorization ? bearerToken(fields.get('authorization')) : undefined);
  return token === undefined ? null : { principal: token, issuedAt: 7 };
};
const workloads = { 'canonical-policy': { identify: identifyByToken } };
const workload = (principal: string) => ({ kind: 'workload', principal, issuedAt: 7 });

describe('API keys', () => {
  test('a required key is asked for, except where everybody may come', async () => {
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

  test('a file of keys counts as configured, also while it is empty', async () => {
    const file = { hashes: async () => [] };
    const filed = createApiKeys({ hashes: [], headerName, file });
    const subject = createAuthenticator({ apiKeys: filed, apiKeyRequired: true, otherwise: anonymous });
    await expect(subject.authenticate(headers({ 'x-svc-api-key': 'k' }), canonical)).rejects.toThrow(
      unauthenticated,
    );
  });
});

describe('a verified identity beside API keys', () => {
  const keyed = createAuthenticator({ apiKeys, apiKeyRequired: true, workloads, otherwise: anonymous });
  const alone = createAuthenticator({ apiKeyRequired: false, workloads, otherwise: anonymous });

  test('B01: the identity in X-Serverless-Authorization and the key in its header name the caller', async () => {
    const fields = { 'x-svc-api-key': 'k', 'x-serverless-authorization': 'Bearer a@b' };
    expect(await keyed.authenticate(headers(fields), canonical)).toEqual(workload('a@b'));
    const withoutKey = headers({ 'x-serverless-authorization': 'Bearer a@b' });
    await expect(keyed.authenticate(withoutKey, canonical)).rejects.toThrow(unauthenticated);
  });

  test('B02: a token in Authorization is an attempt at a key where keys are in use, and the identity elsewhere', async () => {
    const fields = headers({ authorization: 'Bearer a@b' });
    await expect(keyed.authenticate(fields, canonical)).rejects.toThrow(unauthenticated);
    const optional = createAuthenticator({ apiKeys, apiKeyRequired: false, workloads, otherwise: anonymous });
    await expect(optional.authenticate(fields, canonical)).rejects.toThrow(unauthenticated);
    expect(await alone.authenticate(fields, canonical)).toEqual(workload('a@b'));
  });

  test('B03: of two identities the one in X-Serverless-Authorization counts, with keys and without', async () => {
    const both = { authorization: 'Bearer other@b', 'x-serverless-authorization': 'Bearer a@b' };
    expect(await alone.authenticate(headers(both), canonical)).toEqual(workload('a@b'));
    expect(await keyed.authenticate(headers({ ...both, 'x-svc-api-key': 'k' }), canonical)).toEqual(
      workload('a@b'),
    );
  });

  test('beside a key in its own header Authorization is free to name the caller', async () => {
    const onlyAuthorization = headers({ 'x-svc-api-key': 'k', authorization: 'Bearer other@b' });
    expect(await keyed.authenticate(onlyAuthorization, canonical)).toEqual(workload('other@b'));
    const blank = headers({ 'x-svc-api-key': ' ', authorization: 'Bearer other@b' });
    await expect(keyed.authenticate(blank, canonical)).rejects.toThrow(unauthenticated);
  });

  test('B04: a key alone names no principal', async () => {
    expect(await keyed.authenticate(headers({ 'x-svc-api-key': 'k' }), canonical)).toEqual({
      kind: 'api-key',
      principal: null,
    });
  });

  test('an identity is asked whether Authorization is its own, and only for the class that it belongs to', async () => {
    const identify = vi.fn(identifyByToken);
    const other = createAuthenticator({
      apiKeys,
      apiKeyRequired: true,
      workloads: { 'execution-policy': { identify } },
      otherwise: anonymous,
    });
    const fields = headers({ authorization: 'Bearer k', 'x-serverless-authorization': 'Bearer a@b' });
    expect(await other.authenticate(fields, canonical)).toMatchObject({ kind: 'api-key' });
    expect(identify).not.toHaveBeenCalled();
    await other.authenticate(fields, { ...canonical, authorizationClass: 'execution-policy' });
    expect(identify).toHaveBeenCalledExactlyOnceWith(fields, { fromAuthorization: false });
    // No class is found on the prototype of a record.
    const odd = { ...canonical, authorizationClass: 'constructor' };
    expect(await other.authenticate(fields, odd)).toMatchObject({ kind: 'api-key' });
  });

  test('a refusal of the identity is not softened by a known key', async () => {
    const refusal = new Error('no');
    const subject = createAuthenticator({
      apiKeys,
      apiKeyRequired: true,
      workloads: { 'canonical-policy': { identify: () => Promise.reject(refusal) } },
      otherwise: developmentCaller,
    });
    await expect(subject.authenticate(headers({ 'x-svc-api-key': 'k' }), canonical)).rejects.toBe(refusal);
  });
});

describe('B05: headers that a proxy may have set', () => {
  const forged = {
    'x-forwarded-user': 'admin@b',
    'x-goog-authenticated-user-email': 'accounts.google.com:admin@b',
    'x-goog-iap-jwt-assertion': 'a.b.c',
    'x-apigateway-api-userinfo': 'YWRtaW4',
    'x-remote-user': 'admin@b',
  };

  test('no built-in identity reads them, nor anything else that is not documented', async () => {
    const asked = new Set<string>();
    const spy: CredentialHeaders = {
      get(name) {
        asked.add(name);
        return (forged as Record<string, string>)[name];
      },
    };
    const development = createDevelopmentIdentity({ headerName: 'X-Svc-Development-Identity' });
    const subjects = [
      createAuthenticator({ apiKeys, apiKeyRequired: false, workloads, otherwise: anonymous }),
      createAuthenticator({
        apiKeyRequired: false,
        workloads: { 'canonical-policy': development },
        otherwise: anonymous,
      }),
    ];
    for (const subject of subjects) expect(await subject.authenticate(spy, canonical)).toEqual(anonymous);
    expect([...asked].sort()).toEqual([
      'authorization',
      'x-serverless-authorization',
      'x-svc-api-key',
      'x-svc-development-identity',
    ]);
  });

  test('a custom authenticator is given no header that it does not ask for', async () => {
    const asked: string[] = [];
    const spy: CredentialHeaders = { get: (name) => void asked.push(name) };
    const identity = createCustomIdentity({
      authenticator: { authenticate: ({ header }) => header('X-Our-Proof') ?? null },
      timers: new ManualWorld().timers,
    });
    expect(await identity.identify(spy, { fromAuthorization: true })).toBeNull();
    expect(asked).toEqual(['x-our-proof']);
  });

  const named = /['"`]x-(forwarded|goog|apigateway|remote|client|envoy)/i;
  test('no source of this room names one of them', () => {
    const paths = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(
      (path) => !path.includes('.test.'),
    );
    expect(paths).toContain('authenticator.ts');
    const texts = paths.map((path) => readFileSync(join(import.meta.dirname, path), 'utf8'));
    expect(paths.filter((_, index) => named.test(texts[index] ?? ''))).toEqual([]);
    expect(named.test(`headers.get('x-forwarded-user')`)).toBe(true);
  });
});
