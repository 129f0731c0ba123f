import { describe, expect, test, vi } from 'vitest';
import { operations } from '../../contracts/generated/operations.ts';
import type { OperationEntry } from '../../contracts/operation.ts';
import { createApiKeys, hashApiKey } from './api-keys.ts';
import { anonymous, createAuthenticator } from './authenticator.ts';
import { createAuthorizer } from './authorizer.ts';
import { createCanonicalPolicy } from './canonical-access.ts';
import { developmentCaller } from './development.ts';
import { createDevelopmentIdentity } from './development-header.ts';

const unauthenticated = expect.objectContaining({ code: 'unauthenticated' });
const denied = expect.objectContaining({ code: 'permission_denied' });
const canonical = operations.commitCanonicalTransaction;

describe('the authorizer', () => {
  const entries = Object.values<OperationEntry>(operations);

  test.each(entries)('$id: without a policy only its class decides', (entry) => {
    const subject = createAuthorizer();
    const target = { params: { tenantId: 't' }, now: 0 };
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
    subject.authorize({ kind: 'workload', principal: 'a@b' }, canonical, {
      params: { tenantId: 't' },
      now: 5,
    });
    expect(policy).toHaveBeenCalledWith({ kind: 'workload', principal: 'a@b' }, canonical, {
      params: { tenantId: 't' },
      now: 5,
    });
    expect(() =>
      subject.authorize({ kind: 'workload', principal: null }, canonical, { params: {}, now: 0 }),
    ).toThrow(denied);
    expect(() =>
      subject.authorize({ kind: 'api-key', principal: null }, canonical, { params: {}, now: 0 }),
    ).toThrow(denied);
  });
});

describe('authenticator, authorizer and canonical policy together', () => {
  const authenticator = createAuthenticator({
    apiKeys: createApiKeys({ hashes: [hashApiKey('k')], headerName: 'X-Svc-Api-Key' }),
    apiKeyRequired: false,
    workloads: { 'canonical-policy': createDevelopmentIdentity({ headerName: 'X-Who' }) },
    otherwise: anonymous,
  });
  const policy = createCanonicalPolicy({
    grants: [
      { principal: 'Writer@b', tenantIds: ['t'], operations: ['write'] },
      { principal: 'reader@b', tenantIds: ['*'], operations: ['read'] },
    ],
  });
  const authorizer = createAuthorizer({ policies: { 'canonical-policy': policy } });
  const call = async (fields: Record<string, string>, tenantId = 't') => {
    const caller = await authenticator.authenticate(new Map(Object.entries(fields)), canonical);
    authorizer.authorize(caller, canonical, { params: { tenantId }, now: 0 });
    return 'allowed';
  };

  test.each([
    ['no credential', {}, unauthenticated],
    ['a blank name', { 'x-who': ' ' }, unauthenticated],
    ['an unknown key', { 'x-svc-api-key': 'x' }, unauthenticated],
    ['B04: a key alone', { 'x-svc-api-key': 'k' }, denied],
    ['an unknown principal', { 'x-who': 'nobody@b' }, denied],
    ['a principal without the right', { 'x-who': 'reader@b' }, denied],
  ])('%s is refused', async (_, fields, refusal) => {
    await expect(call(fields)).rejects.toThrow(refusal);
  });

  test('a principal with the right is let in, for its tenant', async () => {
    expect(await call({ 'x-who': 'writer@b' })).toBe('allowed');
    await expect(call({ 'x-who': 'writer@b' }, 'other')).rejects.toThrow(denied);
  });
});
