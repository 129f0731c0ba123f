import { expect, test } from 'vitest';
import { ownerOf } from './job-family.ts';

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
