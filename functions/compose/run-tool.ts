import { hostname } from 'node:os';
import { nodeOf } from '../kernel/ordered-id.ts';
import type { Runtime } from '../runs/runtime.ts';
import type { RecordStore } from '../store/port.ts';
import type { LayerParts } from './layer.ts';

/**
 * The run engine of the operator tool, which copies and removes runs. It loads no plugin, executes nothing and sends no
 * messages: servers that search the store, and `reconcile` in the cloud, find what it changed.
 */
export async function composeRunTool(
  { settings, world, log }: Pick<LayerParts, 'settings' | 'world' | 'log'>,
  store: () => Promise<RecordStore>,
): Promise<Runtime> {
  const [{ assembleRuns }, { HandlerRegistry }, { LocalQueue }, { EXECUTION_SCOPE }, adapter, { blobsOf }] =
    await Promise.all([
      import('../runs/assemble.ts'),
      import('../runs/handler-registry.ts'),
      import('../queue/local/local-queue.ts'),
      import('../runs/records.ts'),
      import('./adapter.ts'),
      import('./blobs.ts'),
    ]);
  const local = new LocalQueue({
    world,
    recheckMs: settings.execution.recheckSeconds * 1_000,
    mayHaveChanged: () => false,
  });
  const { runtime } = assembleRuns({
    store,
    scope: EXECUTION_SCOPE,
    world,
    node: nodeOf(settings.execution.orderedIdNode, () => `${hostname()}-${process.pid}`),
    registry: new HandlerRegistry(),
    policies: [],
    local,
    usesReadyRuns: false,
    blobs: blobsOf(settings, world),
    log,
    options: adapter.optionsOf(settings),
    settlesDueRuns: () => false,
    handlers: [],
    engine: { workerId: 'operator-tool', concurrencyMax: 1, leaseMs: 30_000, asks: false },
  });
  return runtime;
}
