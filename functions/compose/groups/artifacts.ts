import type { GroupModule } from '../group.ts';
import { executionAccessOf, recordAccessOf } from '../identity.ts';

export const group: GroupModule = {
  bytesMax: 240_000,
  async jobs(parts) {
    const [{ artifactJobs }, { objectPartsOf }] = await Promise.all([
      import('../../groups/artifacts/artifact-jobs.ts'),
      import('../object-parts.ts'),
    ]);
    return [artifactJobs({ objects: objectPartsOf(parts), access: recordAccessOf(parts.settings) })];
  },
  async load(parts) {
    const [{ artifactsHandlers }, { artifactJobs }, { objectPartsOf }, { externalContextOf }] =
      await Promise.all([
        import('../../groups/artifacts/handlers.ts'),
        import('../../groups/artifacts/artifact-jobs.ts'),
        import('../object-parts.ts'),
        import('../external-context.ts'),
      ]);
    const { settings } = parts;
    const own = { objects: objectPartsOf(parts), access: recordAccessOf(settings) };
    const { jobs } = await parts.execution.get();
    const handlers = artifactsHandlers({
      ...own,
      executionAccess: executionAccessOf(settings),
      jobs,
      plugin: artifactJobs(own),
      externalContext: externalContextOf(settings),
    });
    return { handlers, extra: [] };
  },
};
