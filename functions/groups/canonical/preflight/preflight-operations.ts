import type { Handler } from '../../../http/handler.ts';
import { ServiceError } from '../../../kernel/errors.ts';
import type { CanonicalDependencies } from '../dependencies.ts';
import { countMigrations } from '../migration/migration-operations.ts';
import { preflightReport, preflightStatus, probeResult, type StoreFindings } from './preflight.ts';
import { probeDataPlane } from './preflight-probe.ts';

/** Reports the configuration of the store and that its ledger can be read. Writes nothing. */
export function preflightCanonicalStore(
  dependencies: CanonicalDependencies,
): Handler<'preflightCanonicalStore'> {
  return async () => {
    const { configuration } = dependencies;
    const body = preflightReport(configuration, await askStore(dependencies), null);
    return { status: preflightStatus(configuration, body), body };
  };
}

/** The same report, with the outcome of a trial in two temporary tenants. */
export function probeCanonicalStoreDataPlane(
  dependencies: CanonicalDependencies,
): Handler<'probeCanonicalStoreDataPlane'> {
  return async (_, context) => {
    const { configuration, world } = dependencies;
    // Read first: the probe does not write to a store that it cannot read.
    const store = await askStore(dependencies);
    context.signal.throwIfAborted();
    const startedAt = world.clock.now();
    const findings = await probeDataPlane(dependencies, context);
    // The client has disconnected, and an aborted trial proves nothing.
    context.signal.throwIfAborted();
    const result = probeResult(findings, startedAt, world.clock.now() - startedAt);
    const body = preflightReport(configuration, store, result);
    return { status: preflightStatus(configuration, body), body };
  };
}

/** Throws `unavailable` for every failure to read the ledger: an operator needs one answer. */
async function askStore(dependencies: CanonicalDependencies): Promise<StoreFindings> {
  try {
    const store = await dependencies.store();
    return { store: store.provider, migrationReceiptCount: await countMigrations(store) };
  } catch (cause) {
    throw new ServiceError('unavailable', 'The migration ledger cannot be read', {}, { cause });
  }
}
