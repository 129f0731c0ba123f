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
    const handlers = objectsHandlers(objectPartsOf(parts), recordAccessOf(settings), pageTokensOf(parts));
    return { handlers, extra: [] };
  },
};
