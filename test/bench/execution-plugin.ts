import { definePlugin } from '../../functions/runs/plugin.ts';

/** Handlers for servers of the benchmarks, which load them by the setting `ExecutionRuntime:Plugins`. */
export default definePlugin({
  pluginId: 'bench',
  name: 'Bench',
  version: '1',
  handlers: [
    { handlerId: 'echo', run: ({ payload }) => payload },
    {
      handlerId: 'hangs-once',
      // The first attempt ends with its process only.
      run: ({ attempt }) => (attempt === 1 ? new Promise<undefined>(() => undefined) : { attempt }),
    },
    {
      handlerId: 'waits',
      async run(context) {
        await context.waitForExternalEvent('go');
        return null;
      },
    },
    {
      handlerId: 'sleeps',
      async run(context) {
        await context.waitForTimer('later', new Date(context.payload as string));
        return null;
      },
    },
  ],
});
