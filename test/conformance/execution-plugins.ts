import { definePlugin, type Plugin } from '../../functions/runs/plugin.ts';
import type { ExecutionClient } from '../support/execution.ts';
import type { Stage } from './execution-stage.ts';

export type Run = Plugin['handlers'][number]['run'];
type Handler = Plugin['handlers'][number];

/** A plugin of the test's own, with one handler for each name. */
export function pluginOf(handlers: Readonly<Record<string, Run | Omit<Handler, 'handlerId'>>>): Plugin {
  return definePlugin({
    pluginId: 'test.plugin',
    name: 'Test plugin',
    version: '1.0.0',
    handlers: Object.entries(handlers).map(([handlerId, handler]) => ({
      handlerId,
      ...(typeof handler === 'function' ? { run: handler } : handler),
    })),
  });
}

/** Starts a run of the handler and waits until no work is under way. */
export async function executed(
  stage: Stage,
  client: ExecutionClient,
  handlerId: string,
  body: Partial<Parameters<ExecutionClient['start']>[0]> = {},
) {
  const { id } = await client.start({ handlerId, ...body });
  await stage.quiet();
  return client.get(id);
}
