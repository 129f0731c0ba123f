import { definePlugin, RunFailure } from '../../functions/runs/plugin.ts';

/** A handler that writes the text of its payload wherever a handler may write for people. */
export default definePlugin({
  pluginId: 'forging',
  name: 'A handler that forges lines',
  version: '1.0.0',
  handlers: [
    {
      handlerId: 'forging.write',
      async run({ payload, ...context }) {
        const text = payload as string;
        await context.log(text, { details: { text } });
        await context.report({ currentStep: text, statusDetails: { text } });
        throw new RunFailure('transient', text);
      },
    },
  ],
});
