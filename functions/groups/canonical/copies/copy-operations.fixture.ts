import type { RunningService } from '../../../../test/support/service.ts';
import type { Json } from '../../../kernel/canonical-json.ts';

/** One tenant of a running service, copied over HTTP. */
export function tenantOver(service: RunningService, tenantId: string) {
  const path = `/canonical/tenants/${tenantId}`;
  return {
    commit: (idempotencyKey: string, value: number, filler = 0) => {
      const name = { tenantId, documentType: 'claim', id: idempotencyKey, schemaVersion: '1' };
      const data = { value, filler: 'x'.repeat(filler) };
      const mutations = [{ operation: 'upsert', document: { ...name, data } }];
      return service.call({
        method: 'POST',
        path: `${path}/transactions`,
        body: { idempotencyKey, mutations },
      });
    },
    exported: () => service.call({ method: 'GET', path: `${path}/export` }),
    restore: (body: Json) => service.call({ method: 'POST', path: `${path}/restore`, body }),
  };
}
