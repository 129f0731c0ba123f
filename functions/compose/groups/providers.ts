import { isServed, needsApiKey } from '../../config/rules.ts';
import type { GroupModule } from '../group.ts';
import { providerAccessOf } from '../identity.ts';
import { jobFamilyOf } from '../job-family.ts';
import type { LayerParts } from '../layer.ts';

export const group: GroupModule = {
  bytesMax: 442_000,
  async collections() {
    const { PROVIDER_QUALIFICATIONS } = await import('../../providers/qualifications.ts');
    const { PROVIDER_RUNS } = await import('../../providers/run-guard.ts');
    return [PROVIDER_QUALIFICATIONS, PROVIDER_RUNS];
  },
  async jobs(parts) {
    const [{ providerJobs }, layers] = await Promise.all([
      import('../../groups/providers/jobs/provider-jobs.ts'),
      layersOf(parts),
    ]);
    return [providerJobs(layers)];
  },
  async upkeep(parts) {
    // Old traces of runs are removed also where no operation shows traces.
    if (isServed(parts.settings, 'traces')) return async () => ({});
    const { group: traces } = await import('./traces.ts');
    return (await traces.upkeep?.(parts)) ?? (async () => ({}));
  },
  async load(parts) {
    const { settings, world } = parts;
    const [
      { providersHandlers },
      { providerJobs },
      { providerChecksOf },
      { limitedProvidersOf },
      { newTraceId },
      { registry, ...layers },
    ] = await Promise.all([
      import('../../groups/providers/handlers.ts'),
      import('../../groups/providers/jobs/provider-jobs.ts'),
      import('../provider-checks.ts'),
      import('../provider-guards.ts'),
      import('../../traces/write-trace.ts'),
      layersOf(parts),
    ]);
    const handlers = providersHandlers({
      ...(await jobFamilyOf(parts, layers, providerJobs)),
      providers: { ...registry, limited: limitedProvidersOf(settings), checks: providerChecksOf(settings) },
      authRequired: needsApiKey(settings),
      newTraceId: () => newTraceId(world.random),
    });
    return { handlers, extra: [] };
  },
};

async function layersOf(parts: LayerParts) {
  const [{ capabilityPartsOf, providerRegistryOf }, { patienceOf }] = await Promise.all([
    import('../provider-parts.ts'),
    import('../patience.ts'),
  ]);
  const registry = providerRegistryOf(parts);
  const access = providerAccessOf(parts.settings);
  const patience = patienceOf(parts);
  return { capabilities: capabilityPartsOf(parts), patience, provider: registry.find, access, registry };
}
