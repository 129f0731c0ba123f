import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../test/support/refusal.ts';
import { ProductPolicies, type ProductPolicy } from './product-policy.ts';
import { startRequest } from './rules/run.fixture.ts';

const open: ProductPolicy = {
  productId: 'open',
  allowedHandlerIds: [],
  allowedTenantIds: [],
  allowedServiceIdentities: [],
  payloadBytesMax: null,
  artifactPrefix: '',
  redactedNames: [],
};
const narrow: ProductPolicy = {
  productId: 'narrow',
  allowedHandlerIds: ['h'],
  allowedTenantIds: ['t'],
  allowedServiceIdentities: ['w'],
  payloadBytesMax: 100,
  artifactPrefix: 'out/',
  redactedNames: ['secret'],
};
const policies = new ProductPolicies([open, narrow]);
const scope = (productId: string, tenantId = 't') => ({ productId, tenantId, serviceIdentity: null });
const refusal = (more: Parameters<typeof startRequest>[0]) =>
  refusalOf(() => policies.checkStart(startRequest(more)));

describe('without any policy', () => {
  const none = new ProductPolicies();

  test('everything passes', () => {
    expect(none.active).toBe(false);
    none.checkStart(startRequest({ payloadBytes: 1e9 }));
    none.checkArtifactName(scope('narrow'), 'x');
    expect(none.mayLease(null, 'anybody')).toBe(true);
    expect(none.redactedNames(scope('narrow')).size).toBe(0);
  });
});

describe('with a policy', () => {
  test('accepts all that it allows', () => {
    expect(policies.active).toBe(true);
    policies.checkStart(startRequest({ scope: scope('narrow'), payloadBytes: 100 }));
    policies.checkStart(startRequest({ scope: scope('open', 'any'), handlerId: 'any', payloadBytes: 1e9 }));
  });

  test.each([
    ['no scope', { scope: null }],
    ['an unknown product', { scope: scope('Narrow') }],
    ['another handler', { scope: scope('narrow'), handlerId: 'H' }],
    ['another tenant', { scope: scope('narrow', 'T') }],
  ])('%s is refused', (_, more) => {
    expect(refusal(more).code).toBe('product_policy_violation');
  });

  test('a payload beyond its limit is refused', () => {
    expect(refusal({ scope: scope('narrow'), payloadBytes: 101 })).toMatchObject({
      code: 'limit_exceeded',
      errors: [{ pointer: '/payload' }],
    });
  });

  test('only its workers lease its runs, and no worker leases a run without a product', () => {
    expect(policies.mayLease(scope('narrow'), 'w')).toBe(true);
    expect(policies.mayLease(scope('narrow'), 'W')).toBe(false);
    expect(policies.mayLease(scope('open'), 'anybody')).toBe(true);
    expect(policies.mayLease(scope('gone'), 'w')).toBe(false);
    expect(policies.mayLease(null, 'w')).toBe(false);
  });

  test('requires its prefix in names of artifacts', () => {
    policies.checkArtifactName(scope('narrow'), 'out/a');
    policies.checkArtifactName(scope('open'), 'a');
    const call = () => policies.checkArtifactName(scope('narrow'), 'Out/a');
    expect(refusalOf(call).code).toBe('product_policy_violation');
  });

  test('its own names are redacted, and no other', () => {
    expect([...policies.redactedNames(scope('narrow'))]).toEqual(['secret']);
    expect(policies.redactedNames(scope('open')).size).toBe(0);
    expect(policies.redactedNames(null).size).toBe(0);
  });
});
