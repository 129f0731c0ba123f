import { isServed, needsApiKey } from '../../config/rules.ts';
import type { GroupModule } from '../group.ts';
import { pageTokensOf } from '../page-tokens.ts';

export const group: GroupModule = {
  bytesMax: 410_000,
  async collections() {
    const { PROVIDER_QUALIFICATIONS } = await import('../../providers/qualifications.ts');
    const { PROVIDER_RUNS } = await import('../../providers/run-guard.ts');
    return [PROVIDER_QUALIFICATIONS, PROVIDER_RUNS];
  },
  async jobs(parts) {
    const [{ providerJobs }, { providerJobsPartsOf }] = await Promise.all([
      import('../../groups/providers/jobs/provider-jobs.ts'),
      import('../provider-jobs.ts'),
    ]);
    return [providerJobs(providerJobsPartsOf(parts))];
  },
  async upkeep(parts) {
    // The traces of runs have an age also where no operation shows traces.
    if (isServed(parts.settings, 'traces')) return async () => ({});
    const { group: traces } = await import('./traces.ts');
    return (await traces.upkeep?.(parts)) ?? (async () => ({}));
  },
  async load(parts) {
    const { settings, world } = parts;
    const [
      { providersHandlers },
      { providerJobDependenciesOf, providerJobsPartsOf },
      { providerChecksOf },
      { limitedProvidersOf },
      { newTraceId },
    ] = await Promise.all([
      import('../../groups/providers/handlers.ts'),
      import('../provider-jobs.ts'),
      import('../provider-checks.ts'),
      import('../provider-guards.ts'),
      import('../../traces/write-trace.ts'),
    ]);
    const own = providerJobsPartsOf(parts);
    const { registry, capabilities, access } = own;
    const handlers = providersHandlers({
      providers: { ...registry, limited: limitedProvidersOf(settings), checks: providerChecksOf(settings) },
      capabilities,
      access,
      authRequired: needsApiKey(settings),
      newTraceId: () => newTraceId(world.random),
      providerJobs: await providerJobDependenciesOf(parts, own),
      pageTokens: pageTokensOf(parts),
    });
    return { handlers, extra: [] };
  },
};
