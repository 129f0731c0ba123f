import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';
import { pageTokensOf } from '../page-tokens.ts';

export const group: GroupModule = {
  bytesMax: 250_000,
  async jobs(parts) {
    const [{ objectJobs }, { objectPartsOf }] = await Promise.all([
      import('../../groups/objects/object-jobs.ts'),
      import('../object-parts.ts'),
    ]);
    return [objectJobs(objectPartsOf(parts))];
  },
  async load(parts) {
    const { settings } = parts;
    const [{ objectsHandlers }, { objectPartsOf }] = await Promise.all([
      import('../../groups/objects/handlers.ts'),
      import('../object-parts.ts'),
    ]);
    const own = {
      objects: objectPartsOf(parts),
      access: recordAccessOf(settings),
      pageTokens: pageTokensOf(parts),
    };
    return { handlers: objectsHandlers(own), extra: [] };
  },
};
