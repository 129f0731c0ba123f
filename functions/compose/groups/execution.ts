import type { GroupModule } from '../group.ts';

export const group: GroupModule = {
  bytesMax: 537_000,
  async collections() {
    return (await import('../../runs/records.ts')).executionCollections;
  },
  async load({ execution }) {
    const [{ executionHandlers }, { dependencies }] = await Promise.all([
      import('../../groups/execution/handlers.ts'),
      execution.get(),
    ]);
    return { handlers: executionHandlers(dependencies), extra: [] };
  },
};
