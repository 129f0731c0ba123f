import { expect, test } from 'vitest';
import { ServiceError } from '../kernel/errors.ts';
import { jobScope } from './job-scope.ts';

const granted = { productId: 'p', tenantId: 't' };

test('a job has the product and tenant of the query, else those that the access policy grants', () => {
  const query = { productId: ' q ', tenantId: 'u' };
  expect(jobScope(query, granted, 'ada')).toEqual({ productId: 'q', tenantId: 'u', serviceIdentity: 'ada' });
  expect(jobScope({}, granted, 'ada')).toEqual({ ...granted, serviceIdentity: 'ada' });
  expect(jobScope({}, null, null)).toBeNull();
});

test('a query that names only one of the two is refused', () => {
  for (const query of [{ productId: 'p' }, { tenantId: 't' }]) {
    expect(() => jobScope(query, granted, null)).toThrow(ServiceError);
  }
});
