import { namesItsTenant, type TenantCopy } from './preflight-copy.ts';
import { isSeed, type ProbeTenant } from './preflight-tenant.ts';

/** The proofs of the trial. A step that did not run proves nothing. */
export interface TrialFindings {
  readonly restored: boolean;
  readonly isolated: boolean;
  /** Number of chunks of the archive that restored the first tenant. */
  readonly archiveChunkCount: number;
}

export const NOTHING_PROVED: TrialFindings = { restored: false, isolated: false, archiveChunkCount: 0 };

/**
 * Fills both tenants, changes the first and restores it from its archive. The first must then equal its earlier state, and the second
 * must be unchanged. Never rejects.
 */
export async function tryOut(
  first: ProbeTenant,
  second: ProbeTenant,
  report: (error: unknown) => void,
): Promise<TrialFindings> {
  // A failure in one check leaves that check unproved and does not affect the next.
  const attempt = async <T>(work: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      report(error);
      return otherwise;
    }
  };
  const copies = await attempt(() => changeAndBringBack(first, second), null);
  if (copies === null) return NOTHING_PROVED;
  return {
    restored: await attempt(() => isAsCopied(first, copies.first), false),
    isolated: await attempt(() => isAsCopied(second, copies.second), false),
    archiveChunkCount: copies.first.manifest.chunks.length,
  };
}

/** Compares the answers of all readers byte for byte. */
async function isAsCopied(tenant: ProbeTenant, copy: TenantCopy): Promise<boolean> {
  if (!(await tenant.isAsSeeded())) return false;
  const { hash, manifest } = await tenant.copy();
  return hash === copy.hash && manifest.snapshotContentHash === copy.manifest.snapshotContentHash;
}

/** The copies of both tenants from before the change; `null` if they would prove nothing. */
async function changeAndBringBack(first: ProbeTenant, second: ProbeTenant) {
  await first.seed();
  await second.seed();
  const copies = { first: await first.copy(), second: await second.copy() };
  for (const copy of Object.values(copies)) if (!isSeed(copy) || !namesItsTenant(copy)) return null;
  await first.change();
  if (!(await first.isChanged())) return null;
  await first.bringBack(copies.first);
  return copies;
}
