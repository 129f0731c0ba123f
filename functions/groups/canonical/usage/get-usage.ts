import type { StoredBytes } from '../../../../contracts/generated/models.ts';
import type { Handler } from '../../../http/handler.ts';
import { readUse, sumOf } from '../../../quotas/usage-store.ts';
import type { ByteOwner } from '../../../store/port.ts';
import type { CanonicalDependencies } from '../dependencies.ts';

/** Reads the stored usage, to which each process adds its counts every 20 seconds. */
export function getUsage({ store, configuration: { limitOf } }: CanonicalDependencies): Handler<'getUsage'> {
  const bytesOf = async (owner: ByteOwner): Promise<StoredBytes> => {
    const use = await readUse(await store(), owner);
    const { bytes, setting } = limitOf(owner);
    return { used: sumOf(use), ofRuns: Math.max(0, use.runs), limit: bytes, setting };
  };
  return async ({ params: { tenantId } }) => ({
    status: 200,
    body: {
      tenantId,
      tenant: await bytesOf({ kind: 'tenants', name: tenantId }),
      space: await bytesOf({ kind: 'spaces', name: tenantId }),
    },
  });
}
