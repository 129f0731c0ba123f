import { expect, test } from 'vitest';
import { collectionCall, jobCall, ofCall, ownerOf } from './job-family.ts';

const caller = { kind: 'workload', principal: 'ada' } as const;

test('a job belongs to the product and tenant of the query, else to those of the policy, else to its space alone', () => {
  const granted = { ownerOf: () => ({ productId: 'p', tenantId: 't' }) };
  const asked = { productId: 'q', tenantId: 'u' };
  expect(ownerOf(granted, { caller, query: asked }, 's')).toEqual({
    caller,
    scope: { ...asked, serviceIdentity: 'ada' },
    space: 's',
  });
  expect(ownerOf(granted, { caller, query: {} }, 's').scope).toMatchObject({ productId: 'p', tenantId: 't' });
  expect(ownerOf({ ownerOf: () => null }, { caller, query: {} }, 's').scope).toBeNull();
});

test('a job has the owner, the key and the correlation id of the call that starts it', () => {
  const input = { query: {}, idempotencyKey: 'k', params: { collection: 'c' }, text: () => '{}' };
  const context = { caller, correlationId: 'corr', now: 0 };
  const call = { caller, query: {}, idempotencyKey: 'k', correlationId: 'corr' };
  expect(jobCall(input, context)).toEqual(call);
  expect(collectionCall('op', input, context)).toEqual({
    ...call,
    operationId: 'op',
    collection: 'c',
    text: '{}',
  });
  const granted = { ownerOf: () => ({ productId: 'p', tenantId: 't' }) };
  expect(ofCall(granted, call, 's')).toEqual({
    caller,
    scope: { productId: 'p', tenantId: 't', serviceIdentity: 'ada' },
    space: 's',
    idempotencyKey: 'k',
    correlationId: 'corr',
  });
});
