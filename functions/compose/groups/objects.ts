import { PageTokens } from '../../kernel/page-token.ts';
import { sharedSecret } from '../../store/secret.ts';
import type { GroupModule } from '../group.ts';
import { recordAccessOf } from '../identity.ts';

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
    const { settings, store, world } = parts;
    const [{ objectsHandlers }, { objectPartsOf }] = await Promise.all([
      import('../../groups/objects/handlers.ts'),
      import('../object-parts.ts'),
    ]);
    const own = {
      objects: objectPartsOf(parts),
      access: recordAccessOf(settings),
      pageTokens: new PageTokens(sharedSecret(store.get, world.random, 'page-tokens')),
    };
    return { handlers: objectsHandlers(own), extra: [] };
  },
};
