import type { Handler } from '../../../http/handler.ts';
import { readFence } from '../commit/fence.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { fenceKey, tenantScope } from '../records.ts';

/** Reads one fence, whether or not its owner exists as a document. Throws `not_found` for a fence without an owner. */
export function readCanonicalFence(dependencies: CanonicalDependencies): Handler<'readCanonicalFence'> {
  return async ({ params }) => {
    const key = fenceKey(params.name, params.value);
    const store = await dependencies.store();
    const page = await store.query(tenantScope(params.tenantId), { by: 'keys', keys: [{ key }] });
    return { status: 200, body: readFence(params.tenantId, page.records[0], params) };
  };
}
