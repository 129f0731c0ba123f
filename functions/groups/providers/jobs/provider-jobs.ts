import type { JobPlugin } from '../../../jobs/job-plugin.ts';
import type { ProviderLayers } from './job-view.ts';

export const PROVIDER_HANDLER = 'svc.provider.run';

/** The jobs that run a capability of a provider. A worker loads the code of the handler with the first job. */
export function providerJobs(layers: ProviderLayers): JobPlugin {
  return {
    pluginId: 'svc.providers',
    name: 'Providers',
    family: 'provider-run',
    statusPath: '/provider-jobs',
    handlers: [
      {
        handlerId: PROVIDER_HANDLER,
        displayName: 'Run a capability of a provider',
        judge: ({ caller, space }) => layers.access.judgeRecordJob({ caller, space, operation: 'run' }),
        async run(context) {
          const { runProviderJob } = await import('./run-provider-job.ts');
          return runProviderJob(layers, context);
        },
      },
    ],
  };
}
