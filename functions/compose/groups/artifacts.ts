import type { GroupModule } from '../group.ts';
import { executionAccessOf, recordAccessOf } from '../identity.ts';

export const group: GroupModule = {
  bytesMax: 255_000,
  async jobs(parts) {
    const [{ artifactJobs }, { objectPartsOf }] = await Promise.all([
      import('../../groups/artifacts/artifact-jobs.ts'),
      import('../object-parts.ts'),
    ]);
    return [artifactJobs(objectPartsOf(parts), recordAccessOf(parts.settings))];
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
    const objects = objectPartsOf(parts);
    const access = recordAccessOf(settings);
    const { jobs } = await parts.execution.get();
    const handlers = artifactsHandlers({
      objects,
      access,
      executionAccess: executionAccessOf(settings),
      jobs,
      plugin: artifactJobs(objects, access),
      externalContext: externalContextOf(settings),
    });
    return { handlers, extra: [] };
  },
};
