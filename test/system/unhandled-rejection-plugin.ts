import { once } from 'node:events';
import { definePlugin, type RunContext } from '../../functions/runs/plugin.ts';
import { fault, waysToForget } from './unhandled-rejection-ways.ts';

/** Handlers that forget an `await`, most of which wait until their signal is aborted. */

const aborted = async ({ signal }: RunContext) => {
  if (!signal.aborted) await once(signal, 'abort');
};

// Left by the module itself: no handler is found.
void Promise.reject(fault());

export default definePlugin({
  pluginId: 'p',
  name: 'Careless handlers',
  version: '1.0.0',
  handlers: [
    {
      handlerId: 'p.careless',
      async run(context) {
        waysToForget[context.payload as string]?.(context);
        await aborted(context);
        return 'done';
      },
    },
    {
      handlerId: 'p.again',
      maxAttempts: 2,
      async run(context) {
        if (context.attempt === 2) return 'done';
        void Promise.reject(fault());
        return aborted(context).then(() => null);
      },
    },
    {
      handlerId: 'p.stubborn',
      async run() {
        void Promise.reject(fault());
        await new Promise(() => undefined);
        return null;
      },
    },
    {
      handlerId: 'p.last',
      async run() {
        await Promise.resolve();
        void Promise.reject(fault());
        return 'done';
      },
    },
    {
      handlerId: 'p.late',
      run(context) {
        // Its signal is aborted when the attempt is over.
        void aborted(context).then(() => Promise.reject(fault()));
        return 'done';
      },
    },
  ],
});
