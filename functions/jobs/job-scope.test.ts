import { expect, test } from 'vitest';
import type { ServiceError } from '../kernel/errors.ts';
import { jobScope, type ProductTenant } from './job-family.ts';

const granted = { productId: 'p', tenantId: 't' };

test('a job has the product and tenant of the query, else those that the access policy grants', () => {
  const query = { productId: ' q ', tenantId: 'u' };
  expect(jobScope(query, granted, 'ada')).toEqual({ productId: 'q', tenantId: 'u', serviceIdentity: 'ada' });
  expect(jobScope({}, granted, 'ada')).toEqual({ ...granted, serviceIdentity: 'ada' });
  expect(jobScope({}, null, null)).toBeNull();
});

test('a refusal names the member: one of the two that is absent, or one that is no identifier', () => {
  const refused = (query: ProductTenant) => {
    try {
      return jobScope(query, granted, null);
    } catch (error) {
      return (error as ServiceError).extensions.errors;
    }
  };
  const together = 'must be given together with the other of productId and tenantId';
  expect(refused({ productId: 'p' })).toEqual([{ pointer: '/tenantId', detail: together }]);
  expect(refused({ tenantId: 't' })).toEqual([{ pointer: '/productId', detail: together }]);
  const blank = 'must not be blank';
  expect(refused({ productId: ' ', tenantId: 't' })).toEqual([{ pointer: '/productId', detail: blank }]);
  expect(refused({ productId: 'p', tenantId: ' ' })).toEqual([{ pointer: '/tenantId', detail: blank }]);
});
