import { invalidMember } from '../kernel/errors.ts';
import { identifier } from '../kernel/identifiers.ts';
import type { RunScope } from '../runs/run.ts';

/** A product and a tenant as the query or an access policy names them. */
export interface ProductTenant {
  readonly productId?: string | undefined;
  readonly tenantId?: string | undefined;
}

/**
 * The product and tenant of a job: those of the query, else those of the caller's access policy, else none. Where product
 * policies exist, the runtime refuses a job without a known product.
 */
export function jobScope(
  query: ProductTenant,
  granted: Required<ProductTenant> | null,
  principal: string | null,
): RunScope | null {
  const { productId, tenantId } = query;
  if ((productId === undefined) !== (tenantId === undefined)) {
    const missing = productId === undefined ? '/productId' : '/tenantId';
    throw invalidMember(missing, 'must be given together with the other of productId and tenantId');
  }
  const named = productId === undefined ? granted : query;
  if (named?.productId === undefined || named.tenantId === undefined) return null;
  return {
    productId: identifier(named.productId, '/productId'),
    tenantId: identifier(named.tenantId, '/tenantId'),
    serviceIdentity: principal,
  };
}
